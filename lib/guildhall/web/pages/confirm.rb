# frozen_string_literal: true

require_relative "failure"

module Guildhall
  class Web
    module Pages
      # What an action would do, and the button that does it.
      class Confirm < Page
        # @param action [Action]
        def initialize(web, request, action)
          @action = action
          super(web, request)
        end

        # Nobody may keep a copy: it has a token.
        def private? = true

        private

        def title = @plan.title
        def crumbs = @action.crumbs
        def live? = false

        def data
          by = @web.access.check!(@request, @action.name, @action.target)
          @plan = @action.plan
          token = @web.forms.token(by:, action: @action.name, target: @action.target, expect: @plan.expect) if @plan.button
          {**@plan.to_h.except(:expect), by:, token:, minutes: Forms::SECONDS / 60, address: @request.address({})}
        end
      end
    end
  end
end
