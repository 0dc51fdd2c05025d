# frozen_string_literal: true

module Guildhall
  class CSV
    # The options that the gem csv gets. By itself it finds out about wrong ones with the first text, or never.
    module Format
      OPTIONS = {
        col_sep: "a String that is not empty", row_sep: "a String that is not empty, or :auto",
        quote_char: "a String of one character, or nil", skip_blanks: "true or false", strip: "true or false",
        liberal_parsing: "true or false"
      }.freeze
      private_constant :OPTIONS

      class << self
        # @param format [Hash{Symbol=>Object}]
        # @raise [Guildhall::ArgumentError] naming every option that is wrong
        def check(format)
          errors = format.filter_map { |name, value| error(name, value) }
          errors = [together(format)].compact if errors.empty?
          raise Guildhall::ArgumentError, "Guildhall::CSV: #{errors.join("; ")}" if errors.any?
        end

        private

        def error(name, value)
          return "unknown #{name}; there are #{OPTIONS.keys.join(", ")}" unless OPTIONS.key?(name)

          "#{name} is #{OPTIONS[name]}, not #{value.inspect}" unless right?(name, value)
        end

        def right?(name, value)
          case name
          when :col_sep then text?(value)
          when :row_sep then value == :auto || text?(value)
          when :quote_char then value.nil? || (text?(value) && value.size == 1)
          else [true, false].include?(value)
          end
        end

        def text?(value) = value.is_a?(String) && !value.empty? && value.valid_encoding? && value.encoding.ascii_compatible?

        # Some exclude each other: of the separators the gem does not say so.
        def together(format)
          within = [format.fetch(:col_sep, ","), *format.fetch(:quote_char, "\"")]
          marks = [*within, *format[:row_sep]] - [:auto]
          mixed = marks.permutation(2).any? { |one, other| one.include?(other) }
          return "col_sep, row_sep and quote_char are not part of each other" if mixed
          return "col_sep and quote_char hold no line break" if within.any? { |mark| mark.match?(/[\r\n]/) }

          ::CSV.new("a", **format).read
          nil
        rescue ::ArgumentError => error
          error.message
        end
      end
    end
  end
end
