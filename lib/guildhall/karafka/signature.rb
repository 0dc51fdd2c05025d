# frozen_string_literal: true

module Guildhall
  module Karafka
    # Finds out, when routes are drawn, that a deserializer could never be called the way it would be.
    class Signature
      # @param message [Boolean] whether it is to take a message
      # @raise [Guildhall::ArgumentError] with what to change
      def self.check!(deserializer, message)
        new(deserializer, message).check!
      end

      def initialize(deserializer, message)
        @deserializer = deserializer
        @message = message
      end

      # @raise [Guildhall::ArgumentError]
      def check!
        refuse("message: must be true or false, not #{@message.inspect}") unless [true, false].include?(@message)
        refuse("a deserializer needs `call`; #{Shareable.article(@deserializer.class)} has none") unless @deserializer.respond_to?(:call)
        return check_message if decodes_bytes?

        refuse("#{Inspection.name_of(@deserializer)} cannot be called with #{wanted}") unless callable?
        return if @message || !Callable.takes_message?(signature)

        refuse("#{Inspection.name_of(@deserializer)} seems to take a message: say `message: true` (if it takes a payload, call the " \
               "parameter payload)")
      end

      private

      def refuse(reason) = raise(Guildhall::ArgumentError, reason)

      # Codecs and pipelines, which bring their own ways to be called.
      def decodes_bytes? = @deserializer.is_a?(Codec) || @deserializer.is_a?(Pipeline)

      def check_message
        refuse("#{Inspection.name_of(@deserializer)} takes a payload, not a message; leave `message: true` out") if @message
      end

      def wanted
        return "a message alone: `call(message)`" if @message

        "a payload, or a payload and its metadata: `call(payload)` or `call(payload, metadata)`"
      end

      # Blocks that are no lambdas take what they are given.
      def callable?
        return true if @deserializer.is_a?(Proc) && !@deserializer.lambda?

        kinds = signature.parameters.map(&:first)
        least = kinds.count(:req)
        most = kinds.include?(:rest) ? Float::INFINITY : least + kinds.count(:opt)
        given = !@message && Callable.takes_two?(signature) ? 2 : 1
        given.between?(least, most) && !kinds.include?(:keyreq)
      end

      def signature
        return @deserializer if @deserializer.is_a?(Proc)

        @deserializer.is_a?(Task::PerWorker) ? @deserializer.tool.instance_method(:call) : @deserializer.method(:call)
      end
    end
    private_constant :Signature
  end
end
