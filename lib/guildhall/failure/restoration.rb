# frozen_string_literal: true

module Guildhall
  class Failure
    # Makes an exception of a Failure again, of the original class where this Ractor knows it.
    class Restoration
      # @param numbered [Boolean] whether it is to say which payload it was
      def initialize(failure, numbered: false)
        @failure = failure
        @numbered = numbered && failure.index
      end

      def exception
        error = original_class ? restored : TaskError.new(@failure.summary)
        number(error) if @numbered
        error.set_backtrace(@failure.backtrace)
        with_cause(error)
      end

      private

      def original_class
        found = Object.const_get(@failure.error_class)
        found if found.is_a?(Class) && found <= Exception
      rescue NameError
        nil
      end

      # Without the class's own `initialize`, whose arguments are unknown; but an Errno:: class is rescued by its number.
      def restored
        error = core || (numbered? ? original_class.new : original_class.allocate)
        Exception.instance_method(:initialize).bind_call(error, @failure.message)
        @failure.details.each { |name, value| error.instance_variable_set(:"@#{name}", value) }
        error
      end

      # Ruby's own keep what they know where only their `initialize` puts it.
      def core
        details = @failure.details
        return SystemExit.new(details.fetch(:status, 1)) if original_class == SystemExit
        return KeyError.new(@failure.message, receiver: nil, key: details[:key]) if original_class == KeyError && details.key?(:key)

        original_class.new(@failure.message, details[:name]) if [NameError, NoMethodError].include?(original_class)
      end

      def numbered?
        original_class < SystemCallError && original_class.const_get(:Errno).is_a?(Integer)
      end

      def number(error)
        error.instance_variable_set(:@guildhall_payload_index, @failure.index)
        error.extend(PayloadError)
      end

      # Ruby sets a cause only by raising.
      def with_cause(error)
        return error unless @failure.cause

        raise error, cause: @failure.cause.exception
      rescue Exception => error # rubocop:disable Lint/RescueException -- the one raised just above
        error.set_backtrace(@failure.backtrace)
        error
      end
    end
  end
end
