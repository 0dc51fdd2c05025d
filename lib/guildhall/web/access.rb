# frozen_string_literal: true

module Guildhall
  class Web
    # Who may see what. Closed until somebody says who may.
    class Access
      CLOSED = "Nobody may see this dashboard yet. Say who may, where it is mounted:"
      LINE = "Guildhall::Web.new(authorize: ->(request, action, target) { Admin.from(request)&.email })"
      REFUSED = "You may not see this: the application's authorize has refused it."
      private_constant :CLOSED, :REFUSED

      # A page that is refused. line: of code that opens it, nil: there is nothing to add.
      class Refused < StandardError
        include Error

        attr_reader :line

        def initialize(message, line = nil)
          super(message)
          @line = line
        end
      end

      # @param authorize [#call, nil] see {Web#initialize}
      def initialize(authorize) = @authorize = authorize

      # @param action [Symbol] :read or :payload
      # @param target [String, nil] a topic or a group
      # @return [Boolean]
      def allowed?(request, action, target = nil) = !@authorize.nil? && !!@authorize.call(request, action, target)

      # @raise [Refused]
      def check!(request, action, target = nil)
        raise Refused.new(CLOSED, LINE) unless @authorize
        raise Refused, REFUSED unless allowed?(request, action, target)
      end
    end
  end
end
