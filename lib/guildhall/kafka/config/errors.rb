# frozen_string_literal: true

module Guildhall
  module Kafka
    class Config
      # Collects what is wrong with configuration and routes, so that all of it is reported at once.
      class Errors
        def initialize
          @messages = []
        end

        def add(*messages)
          @messages |= messages
        end

        def any?
          @messages.any?
        end

        def to_a
          @messages.dup
        end

        # @raise [ConfigurationError] listing all of them, when there are some
        def raise!
          return unless any?

          noun = @messages.size == 1 ? "error" : "errors"
          raise ConfigurationError, "#{@messages.size} #{noun} in the configuration of Kafka:\n" +
                                    @messages.map { |message| "  - #{message}" }.join("\n")
        end
      end
    end
  end
end
