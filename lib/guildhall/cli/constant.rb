# frozen_string_literal: true

require_relative "loading"

module Guildhall
  class CLI
    # `FILE:Constant` of a command line: requires the file and looks the constant up. `Constant` alone is one that `-r` has loaded.
    module Constant
      class << self
        # @return [Boolean] whether it has that form, or is the name of a constant
        def looks_like?(text) = text.match?(/\A(?:.+\.rb:)?(?:::)?[A-Z]\w*(?:::[A-Z]\w*)*\z/)

        # @raise [Guildhall::ArgumentError] for a file or constant that there is not
        def resolve(text)
          file, name = text.match(/\A(?:(.+\.rb):)?(?:::)?([A-Z].*)\z/)&.captures
          raise Guildhall::ArgumentError, "#{text} is not FILE:Constant, such as app/order_task.rb:OrderTask" unless name

          load(file) if file
          unknown(name, file) unless there?(name)
          loading(name) { return Object.const_get(name) }
        end

        def load(file)
          raise Guildhall::ArgumentError, "no file #{file}" unless File.file?(file)

          loading(file) { require File.expand_path(file) }
        end

        private

        def unknown(name, file)
          raise Guildhall::ArgumentError, "no constant #{name}#{" in #{file}" if file}#{hint(name, file)}"
        end

        # What is named like it in the same module.
        def hint(name, file)
          *outer, last = name.split("::")
          return Suggestion.for(name, names(file)) unless outer.any? && there?(outer.join("::"))

          Suggestion.for(last, Object.const_get(outer.join("::")).constants).sub("mean ", "mean #{outer.join("::")}::")
        end

        def loading(name, &)
          reason = Loading.failure(&)
          raise Guildhall::ArgumentError, "#{name} could not be loaded: #{reason}" if reason
        end

        # One that is loaded late counts: what is wrong with its file is another matter.
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
