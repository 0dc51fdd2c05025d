# frozen_string_literal: true

require_relative "../../soft_dependency"
require_relative "../../utf8_file"

module Guildhall
  class CLI
    class Render
      # The rows of a file: Hashes with String keys, one after the other; a line that is not a row becomes a failed one.
      class Rows
        # What is no row.
        Bad = Data.define(:reason)
        READERS = {".jsonl" => :lines, ".ndjson" => :lines, ".json" => :json, ".csv" => :csv, ".yaml" => :yaml, ".yml" => :yaml}.freeze
        private_constant :READERS

        # @return [Integer] how many there were
        attr_reader :count

        # @raise [Guildhall::ArgumentError] for a file that there is not, or of another kind
        def initialize(path)
          @path = path
          @reader = READERS[File.extname(path).downcase]
          raise Guildhall::ArgumentError, "#{path}: rows come in #{READERS.keys.join(", ")}" unless @reader
          raise Guildhall::ArgumentError, "no file #{path}" unless File.file?(path)

          Utf8File.check!(path)

          @count = 0
        end

        # @return [Array<String>] what can be locals: the keys of the first row, and "row"
        def names = columns.select { |name| Template.local_name?(name) } | ["row"]

        # @return [String] which columns, or keys, the first row has
        def described
          separator = columns.one? && columns.first.to_s[/[;\t|]/]
          hint = "; columns are separated by commas, and this file seems to have #{separator.inspect}" if @reader == :csv && separator
          "#{@path} has #{columns.any? ? columns.map { |name| name.to_s.inspect }.join(", ") : "no columns"}#{hint}"
        end

        def each
          read do |row|
            @count += 1
            yield row.respond_to?(:to_hash) || row.is_a?(Bad) ? row : Bad.new("a row is an object with names, not #{row.class}")
          end
        end

        # @param names [Array<Symbol>] the template's locals
        # @return [Object] what the template is rendered with
        def locals(row, names)
          return Template.refused(row.reason) if row.is_a?(Bad)

          names.each_with_object({}) do |name, locals|
            if row.key?(name.name) then locals[name] = row[name.name]
            elsif name == :row then locals[name] = row
            end
          end.then { |locals| Template.share(locals) }
        end

        private

        def columns
          @columns ||= (to_enum(:read).find { |row| row.respond_to?(:to_hash) } || {}).to_hash.keys
        end

        def read(&) = send(@reader, &)

        def lines
          require_relative "../../json"
          File.foreach(@path, encoding: "BOM|UTF-8").with_index(1) do |line, number|
            next if line.b.strip.empty?

            yield(decoded(line, number))
          end
        end

        def decoded(line, number)
          JSON.decode(line)
        rescue DecodeError => error
          Bad.new("line #{number}: #{error.message}")
        end

        def json(&)
          require_relative "../../json"
          listed(JSON.decode(Utf8File.read(@path))).each(&)
        end

        def yaml(&)
          require "date"
          require_relative "../../yaml"
          listed(YAML.new(permitted_classes: [Date, Time]).decode(Utf8File.read(@path))).each(&)
        end

        def listed(list)
          list.is_a?(Array) ? list : raise(Guildhall::ArgumentError, "#{@path} is not a list of rows")
        end

        # Without the gem there is no class to rescue either.
        def csv(&)
          SoftDependency.require!("csv", gem: "csv", purpose: "reading #{@path}")
          csv_rows(&)
        end

        def csv_rows
          ::CSV.foreach(@path, headers: true, encoding: "BOM|UTF-8") { |row| yield row.to_h }
        rescue ::CSV::MalformedCSVError => error
          yield Bad.new("#{error.message} The rows after it are not read.")
        end
      end
    end
  end
end
