# frozen_string_literal: true

require_relative "../../suggestion"

module Guildhall
  class CLI
    class Render
      # Writes what was rendered, each into a file of its own.
      class Files
        PLACE = /\{([^{}]+)\}/
        # What a name must not contain, wherever its parts come from.
        UNSAFE = %r{[/\\\0\x01-\x1f\x7f]|\A\.+}
        # Of a pattern without its places.
        NO_NAME = %r{[{}/\0]}
        private_constant :PLACE, :UNSAFE, :NO_NAME

        # @param template [String] its path: "mail.html.erb"
        # @return [String] "{number}.html"
        def self.pattern(template)
          "{number}#{File.extname(File.basename(template, ".*")).then { |ending| ending.empty? ? ".txt" : ending }}"
        end

        # @param pattern [String] names of columns in braces, and {number}
        # @raise [Guildhall::ArgumentError] for a pattern that can name no file
        def initialize(folder, pattern)
          refuse(pattern) if pattern.empty? || pattern.gsub(PLACE, "").match?(NO_NAME)

          @folder = folder
          @pattern = pattern
          @taken = {}
        end

        # @param number [Integer] of the row, from 1
        # @return [String, nil] why it was not written
        def write(text, row, number)
          lacking = lacking(row)
          return "its name needs #{lacking}, which the row does not have#{Suggestion.for(lacking, row.keys)}" if lacking

          name = name_of(row, number)
          return "its name, #{name}, is that of row #{@taken[name]}" if @taken.key?(name)

          @taken[name] = number
          File.binwrite(File.join(@folder, name), text)
          nil
        rescue SystemCallError => error
          "#{name}: #{error.message}"
        end

        private

        def refuse(pattern)
          raise Guildhall::ArgumentError, "--name is a file's name, with columns in braces and without slashes, such as \"{id}.html\", " \
                                          "not #{pattern.inspect}"
        end

        def lacking(row)
          @pattern.scan(PLACE).flatten.find { |name| name != "number" && !row.key?(name) }
        end

        def value(row, name, number)
          row.fetch(name) { format("%06d", number) }.to_s
        end

        def name_of(row, number)
          made = @pattern.gsub(PLACE) { |place| value(row, place[1..-2], number) }
          made.scrub("_").gsub(UNSAFE, "_")
        end
      end
    end
  end
end
