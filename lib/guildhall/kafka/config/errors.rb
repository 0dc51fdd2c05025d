# frozen_string_literal: true

module Guildhall
  module Kafka
    class Config
      # Collects what is wrong with configuration and routes, so that all of it is reported at once.
      class Errors
        def initialize
          @messages = []
        end

        # @param messages [Array<String>]
        # @return [void]
        def add(*messages)
          @messages |= messages
        end

        # @return [Boolean]
        def any?
          @messages.any?
        end

        # @return [Array<String>]
        def to_a
          @messages.dup
        end

        # @return [void]
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
