# frozen_string_literal: true

module Guildhall
  class CLI
    # Loads code of the user's, which may do anything meanwhile.
    module Loading
      # @yield loads it
      # @return [String, nil] why it could not be loaded; nil: it was
      def self.failure
        yield
        nil
      rescue SystemExit => error
        "it ends the process#{place(error)}"
      rescue ScriptError, StandardError => error
        "#{error.message.lines.first.to_s.chomp} (#{error.class}#{place(error)})"
      end

      # @api private
      def self.place(error)
        return if error.is_a?(SyntaxError) # whose message says it

        line = error.backtrace&.find { |frame| frame.match?(/:in '<(?:top|main|module|class)/) && !frame.start_with?("<internal:") }
        ", #{line[/\A.+?:\d+/]}" if line
      end
      private_class_method :place
    end
  end
end
