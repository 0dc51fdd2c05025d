# frozen_string_literal: true

module Guildhall
  class Web
    # Who may see what, and do what. Closed until somebody says who may.
    # @api private
    class Access
      CLOSED = "Nobody may see this dashboard yet. Say who may, where it is mounted:"
      LINE = "Guildhall::Web.new(authorize: ->(request, action, target) { Admin.from(request)&.email })"
      REFUSED = "You may not see this: the application's authorize has refused it."
      READING = %i[read payload].freeze
      UNNAMED = "somebody whom authorize does not name"
      private_constant :CLOSED, :REFUSED, :READING, :UNNAMED

      # A page or an action that is refused. line: of code that opens it, nil: there is nothing to add.
      class Refused < StandardError
        include Error

        attr_reader :line

        def initialize(message, line = nil)
          super(message)
          @line = line
        end
      end

      # @param authorize [#call, nil] see {Web#initialize}
      # @param read_only [Boolean] whether nobody may do anything, whatever `authorize` says
      def initialize(authorize, read_only: false)
        @authorize = authorize
        @read_only = read_only
      end

      # @param action [Symbol] :read, :payload, or what is to be done
      # @param target [String, nil] a topic, a group, a task or a process
      # @return [String, nil] the name of who asks; nil: they may not. A name without a letter is nobody's
      def name(request, action, target = nil)
        return if @authorize.nil? || (@read_only && !READING.include?(action))

        answer = @authorize.call(request, action, target) or return
        return if answer.respond_to?(:empty?) && answer.empty? # a proxy's header without a name, say

        answer.is_a?(String) || answer.is_a?(Symbol) ? Printable.words(answer.to_s, 200) : UNNAMED
      end

      # @return [Boolean]
      def allowed?(...) = !name(...).nil?

      # @return [String] as {#name}
      # @raise [Refused]
      def check!(request, action, target = nil)
        raise Refused.new(CLOSED, LINE) unless @authorize

        name(request, action, target) or raise Refused, READING.include?(action) ? REFUSED : refused(action, target)
      end

      private

      def refused(action, target)
        return "Nothing can be done here: this page is read-only." if @read_only

        "You may not do this: the application's authorize has refused #{action.name.tr("_", " ")}#{" of #{target}" if target}."
      end
    end
  end
end
