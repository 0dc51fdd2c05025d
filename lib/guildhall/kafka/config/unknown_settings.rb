# frozen_string_literal: true

require_relative "errors"

module Guildhall
  module Kafka
    class Config
      # Notes assignments to settings that do not exist, so that they are reported together with all other errors and not
      # alone by a NoMethodError.
      module UnknownSettings
        private

        # @return [void]
        def validate_names(known, errors, owner = "")
          @unknown&.each { |name| errors.add("there is no setting #{owner}#{name}#{Suggestion.for(name, known)}") }
        end

        def method_missing(name, *arguments)
          return super unless name.end_with?("=") && arguments.size == 1

          (@unknown ||= []) << name.to_s.delete_suffix("=")
        end

        def respond_to_missing?(_name, _private = false)
          false
        end
      end
    end
  end
end
