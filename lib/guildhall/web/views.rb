# frozen_string_literal: true

require "guildhall/templates"
require_relative "charts"
require_relative "helpers"

module Guildhall
  class Web
    # The pages' templates.
    # @api private
    module Views
      FOLDER = File.join(__dir__, "views")
      private_constant :FOLDER

      # Compiles them. Main Ractor.
      # @return [Guildhall::Templates]
      def self.templates = Templates.new(FOLDER, layout: "layout", helpers: [Helpers, Charts])
    end
  end
end
