# frozen_string_literal: true

module Guildhall
  class Schema
    module Pattern
      # Sets of characters: ranges of code points, and properties of Unicode in Ruby's words.
      module Characters
        LAST = 0x10ffff
        SURROGATES = 0xd800..0xdfff
        DIGITS = [0x30..0x39].freeze
        WORD = [0x30..0x39, 0x41..0x5a, 0x5f..0x5f, 0x61..0x7a].freeze
        SPACE = [0x9..0xd, 0x20..0x20, 0xa0..0xa0, 0x1680..0x1680, 0x2000..0x200a, 0x2028..0x2029, 0x202f..0x202f, 0x205f..0x205f,
                 0x3000..0x3000, 0xfeff..0xfeff].freeze
        LINE_ENDS = [0xa..0xa, 0xd..0xd, 0x2028..0x2029].freeze
        ANY = "(?m:.)"
        NONE = "(?!)"
        private_constant :LAST, :SURROGATES, :ANY, :NONE

        class << self
          # @param ranges [Array<Range>] without surrogates, which a valid text has none of
          # @return [Array<Range>] sorted, none touching another
          def merge(ranges)
            ranges.sort_by(&:begin).each_with_object([]) do |range, merged|
              last = merged.last
              last && range.begin <= last.end + 1 ? merged[-1] = last.begin..[last.end, range.end].max : merged << range
            end
          end

          # @return [Array<Range>] all other characters
          def complement(ranges)
            edges = merge([*ranges, SURROGATES]).flat_map { |range| [range.begin - 1, range.end + 1] }
            [0, *edges, LAST].each_slice(2).filter_map { |first, last| first..last if first <= last }
          end

          # @param properties [Array<String>] "\\p{L}", "\\P{L}"
          # @return [String] as Ruby writes it
          def source(ranges, properties = [], negative: false)
            return union(ranges, properties.uniq, negative) unless properties.empty?
            return negative ? ANY : NONE if ranges.empty?
            return negative ? NONE : ANY if complement(ranges).empty?
            return character(ranges.first.begin) if !negative && ranges.size == 1 && ranges.first.size == 1

            "[#{"^" if negative}#{merge(ranges).map { |range| range_source(range) }.join}]"
          end

          private

          # Ruby warns of a union whose parts overlap. So this is what is outside of all parts, or not that.
          def union(ranges, properties, negative)
            return negative ? NONE : ANY if complement(ranges).empty?

            outside = properties.map { |property| property.start_with?("\\p") ? property.sub("p", "P") : property.sub("P", "p") }
            outside.unshift(source(ranges, negative: true)) unless ranges.empty?
            "[#{"^" unless negative}#{outside.join("&&")}]"
          end

          # A range across the surrogates is two.
          def range_source(range)
            return character(range.begin) if range.size == 1

            parts = [range.begin..[range.end, SURROGATES.begin - 1].min, [range.begin, SURROGATES.end + 1].max..range.end].uniq
            parts.reject(&:none?).map { |part| "#{character(part.begin)}-#{character(part.end)}" }.join
          end

          def character(number)
            return format('\u{%x}', number) if number > 0x7f

            text = number.chr(Encoding::UTF_8)
            text.match?(/\w/u) ? text : format('\x%02x', number)
          end
        end
      end
    end
  end
end
