# frozen_string_literal: true

require_relative "../document"

module Guildhall
  class Pipeline
    # What the answers of validators mean.
    # @api private
    module Verdict
      class << self
        # @yieldparam answer [Object] one that is not a verdict
        # @return [Array, nil] what is wrong; nil: nothing
        def errors(answer, &)
          case answer
          when true then nil
          when false, nil then []
          when Array, Hash then list(answer)
          when Document then yield(answer)
          else of_object(answer, &)
          end
        end

        private

        # A result that says both is believed: it may have warnings among its errors.
        def of_object(answer)
          return (list(errors_of(answer)) || [] unless answer.success?) if answer.respond_to?(:success?)
          return list(answer.errors) if answer.respond_to?(:errors)

          answer.is_a?(Enumerable) ? list(answer) : yield(answer)
        end

        def errors_of(answer) = answer.respond_to?(:errors) ? answer.errors : []

        # @return [Array, nil] nil for no errors at all
        def list(errors)
          messages = errors.respond_to?(:full_messages) ? errors.full_messages : entries(errors)
          messages unless messages.empty?
        end

        def entries(errors)
          return errors.map { |name, messages| "#{name} #{Array(messages).join(", ")}" } if errors.is_a?(Hash)

          errors.map { |error| message?(error) ? "#{Array(error.path).join(".")} #{error.text}".strip : error }.to_a # of a lazy one, too
        end

        # Of dry-schema and dry-validation.
        def message?(error) = error.respond_to?(:path) && error.respond_to?(:text)
      end
    end
    private_constant :Verdict
  end
end
