# frozen_string_literal: true

require_relative "setting"

module Guildhall
  module Kafka
    class Config
      # `config.deserializing.parallel`: whether and how payloads are decoded on the pool's workers.
      class Deserializing
        # The settings of `config.deserializing.parallel`.
        class Parallel
          SETTINGS = [
            Setting.new(:active, "true or false") { |value| [true, false].include?(value) },
            Setting.new(:concurrency, "a positive Integer, or nil") { |value| value.nil? || (value.is_a?(Integer) && value.positive?) },
            Setting.new(:min_payloads, "an Integer ≥ 1, or nil") { |value| value.nil? || (value.is_a?(Integer) && value.positive?) }
          ].freeze

          # @return [Boolean] false: payloads are decoded when they are asked for, in the thread that asks. true unless set
          attr_accessor :active
          # @return [Integer, nil] worker Ractors of the application's pool; nil: as many as pay off here
          attr_accessor :concurrency
          # @return [Integer, nil] smaller batches are not sent to workers; nil: the pool decides
          attr_accessor :min_payloads

          def initialize
            @active = true
            @concurrency = @min_payloads = nil
          end

          # @param faults [Faults]
          # @return [void]
          def validate(faults)
            SETTINGS.each { |setting| setting.validate(public_send(setting.name), faults, "deserializing.parallel.") }
          end
        end

        # @return [Parallel]
        attr_reader :parallel

        def initialize
          @parallel = Parallel.new
        end

        # @param faults [Faults]
        # @return [void]
        def validate(faults)
          @parallel.validate(faults)
        end

        # @return [self]
        def freeze
          @parallel.freeze
          super
        end
      end
    end
  end
end
