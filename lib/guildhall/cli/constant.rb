# frozen_string_literal: true

module Guildhall
  class CLI
    # `FILE:Constant` of a command line: requires the file and looks the constant up. `Constant` alone is one that `-r` has loaded.
    module Constant
      class << self
        # @param text [String]
        # @return [Boolean] whether it has that form, or is the name of a constant
        def looks_like?(text) = text.match?(/\A(?:.+\.rb:)?(?:::)?[A-Z]\w*(?:::[A-Z]\w*)*\z/)

        # @param text [String]
        # @return [Object]
        # @raise [Guildhall::ArgumentError] for a file or constant that there is not
        def resolve(text)
          file, name = text.match(/\A(?:(.+\.rb):)?(?:::)?([A-Z].*)\z/)&.captures
          raise Guildhall::ArgumentError, "#{text} is not FILE:Constant, such as app/order_task.rb:OrderTask" unless name

          load(file) if file
          Object.const_get(name)
        rescue NameError => error
          raise unless error.instance_of?(NameError)

          raise Guildhall::ArgumentError, "no constant #{name}#{" in #{file}" if file}#{Suggestion.for(name, names(file))}"
        end

        # @param file [String]
        # @return [void]
        def load(file)
          raise Guildhall::ArgumentError, "no file #{file}" unless File.file?(file)

          require File.expand_path(file)
        end

        private

        def names(file)
          Object.constants.select { |name| file.nil? || Object.const_source_location(name)&.first == File.expand_path(file) }
        end
      end
    end
  end
end
