# frozen_string_literal: true

require_relative "../option_rules"

module Guildhall
  class CSV
    # The options that the gem csv gets. By itself it finds out about wrong ones with the first text, or never.
    module Format
      TEXT = OptionRules.rule("a String of valid text that is not empty") do |value|
        value.is_a?(String) && !value.empty? && !UTF8.of(value).nil?
      end
      RULES = OptionRules.new(
        col_sep: TEXT, row_sep: TEXT.or(:auto),
        quote_char: OptionRules.rule("a String of one character") { |value| TEXT.problem(value).nil? && value.size == 1 }.or(nil),
        **%i[skip_blanks strip liberal_parsing].to_h { |name| [name, OptionRules.boolean] }
      )
      private_constant :TEXT, :RULES

      class << self
        # @return [Hash{Symbol=>Object}] the options, in UTF-8
        # @raise [Guildhall::ArgumentError] naming every option that is wrong
        def of(given)
          format = given.transform_values { |value| (UTF8.of(value) if value.is_a?(String)) || value }
          RULES.check!(format, owner: "Guildhall::CSV", beside: CSV)
          error = together(format)
          raise Guildhall::ArgumentError, "Guildhall::CSV: #{error}" if error

          format
        end

        private

        # Some exclude each other: of the separators the gem does not say so.
        def together(format)
          within = [format.fetch(:col_sep, ","), *format.fetch(:quote_char, "\"")]
          marks = [*within, *format[:row_sep]] - [:auto]
          mixed = marks.permutation(2).any? { |one, other| one.include?(other) }
          return "col_sep, row_sep and quote_char are not part of each other" if mixed
          return "col_sep and quote_char hold no line break" if within.any? { |mark| mark.match?(/[\r\n]/u) }
          return "strip would leave out quote_char, which is white space" if format[:strip] && within.last.match?(/\s/u)

          ::CSV.new("", **format).read
          nil
        rescue ::ArgumentError => error
          error.message
        end
      end
    end
  end
end
