# frozen_string_literal: true

require_relative "setting"
require_relative "unknown_settings"

module Guildhall
  module Kafka
    class Config
      # `config.deserializing.parallel`: whether and how payloads are decoded on the pool's workers.
      class Deserializing
        # The settings of `config.deserializing.parallel`.
        class Parallel
          include UnknownSettings

          SETTINGS = [
            Setting.new(:active, "true or false", &Setting::BOOLEAN),
            *%i[concurrency min_payloads].map do |name|
              Setting.new(name, "a positive Integer, or nil") { |value| value.nil? || Setting::POSITIVE.call(value) }
            end
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

          # @param errors [Errors]
          # @return [void]
          def validate(errors)
            SETTINGS.each { |setting| setting.validate(public_send(setting.name), errors, "deserializing.parallel.") }
            validate_names(SETTINGS.map(&:name), errors, "deserializing.parallel.")
          end
        end

        include UnknownSettings

        # @return [Parallel]
        attr_reader :parallel

        def initialize
          @parallel = Parallel.new
        end

        # @param errors [Errors]
        # @return [void]
        def validate(errors)
          @parallel.validate(errors)
          validate_names([:parallel], errors, "deserializing.")
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
