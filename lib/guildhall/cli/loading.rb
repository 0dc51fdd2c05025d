# frozen_string_literal: true

module Guildhall
  class CLI
    # Loads code of the user's, which may do anything meanwhile. What it prints goes to standard error: standard output is the command's.
    module Loading
      # @yield loads it
      # @return [String, nil] why it could not be loaded; nil: it was
      def self.failure
        out = $stdout
        $stdout = $stderr
        yield
        nil
      rescue SystemExit => error
        "it ends the process#{place(error)}"
      rescue ScriptError, StandardError => error
        "#{error.message.lines.first.to_s.chomp}#{detail(error)} (#{error.class}#{place(error)})"
      ensure
        $stdout = out
      end

      # What Ruby's parser writes below the line: "^ unexpected end-of-input".
      def self.detail(error)
        found = error.message[/\^\S* (.+)/, 1] if error.is_a?(SyntaxError)
        ": #{found}" if found
      end

      # @api private
      def self.place(error)
        return if error.is_a?(SyntaxError) # whose message says it

        line = error.backtrace&.find { |frame| frame.match?(/:in '<(?:top|main|module|class)/) && !frame.start_with?("<internal:") }
        ", #{line[/\A.+?:\d+/]}" if line
      end
      private_class_method :detail, :place
    end
  end
end
