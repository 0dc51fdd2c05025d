# frozen_string_literal: true

require_relative "../page"

module Guildhall
  class Web
    # The pages, one class each: what {Response} finds by the path.
    # @api private
    module Pages
      # Why there is no page.
      class Failure < Page
        # @param line [String, nil] of code that cures it
        def initialize(web, request, message, line: nil)
          @message = message
          @line = line
          super(web, request)
        end

        private

        def title = "No page"
        def live? = false
        def data = {error: Printable.valid(@message), line: @line, again: (@request.address({}) if @request.post?)}.compact

        # Whoever is refused need not know them, and settings that are wrong may be what is said.
        def servers = ""
        def reports = nil
      end
    end
  end
end
