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

      # Ruby's parser writes the reason below the line: "^ unexpected end-of-input".
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

    # `FILE:Constant` of a command line: requires the file and looks the constant up. `Constant` alone is one that `-r` has loaded.
    # `Constant.lazy` is what the constant's method returns.
    module Constant
      FORM = /\A(?:(.+\.rb):)?(?:::)?([A-Z]\w*(?:::[A-Z]\w*)*)((?:\.[a-z_]\w*)*)\z/
      private_constant :FORM

      class << self
        # @return [Boolean] whether it has that form, or is the name of a constant
        def looks_like?(text) = text.match?(FORM)

        # @raise [Guildhall::ArgumentError] for a file, constant or method that there is not
        def resolve(text)
          file, name, methods = text.match(FORM)&.captures
          raise Guildhall::ArgumentError, "#{text} is not FILE:Constant, such as app/order_task.rb:OrderTask" unless name

          load(file) if file
          unknown(name, file) unless there?(name)
          loading(name) { return methods.scan(/\w+/).inject(Object.const_get(name)) { |object, method| object.public_send(method) } }
        end

        def load(file)
          raise Guildhall::ArgumentError, "no file #{file}" unless File.file?(file)

          loading(file) { require File.expand_path(file) }
        end

        private

        def unknown(name, file)
          raise Guildhall::ArgumentError, "no constant #{name}#{" in #{file}" if file}#{hint(name, file)}"
        end

        # Suggests a constant of the same module with a similar name.
        def hint(name, file)
          *outer, last = name.split("::")
          return Suggestion.for(name, names(file)) unless outer.any? && there?(outer.join("::"))

          Suggestion.for(last, Object.const_get(outer.join("::")).constants).sub("mean ", "mean #{outer.join("::")}::")
        end

        def loading(name, &)
          reason = Loading.failure(&)
          raise Guildhall::ArgumentError, "#{name} could not be loaded: #{reason}" if reason
        end

        # An autoload counts, even if its file turns out to be broken: loading it will say so.
        def there?(name)
          *outer, last = name.split("::")
          owner = Object
          loading(name) { owner = outer.inject(Object) { |type, part| type.const_defined?(part) ? type.const_get(part) : (return false) } }
          owner.is_a?(Module) && owner.const_defined?(last)
        end

        def names(file)
          Object.constants.select { |name| file.nil? || Object.const_source_location(name)&.first == File.expand_path(file) }
        end
      end
    end
  end
end
