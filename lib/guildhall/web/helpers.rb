# frozen_string_literal: true

require "guildhall/printable"
require "guildhall/kafka/reporting/wording"

module Guildhall
  class Web
    # What templates may call.
    module Helpers
      SHAPES = {
        "bad" => '<rect x="1.5" y="1.5" width="9" height="9"/>', "warn" => '<path d="M6 1 11.5 11H.5z"/>',
        "ok" => '<path d="M1.2 6.6 2.6 5.2 4.9 7.5 9.6 2.6 11 4 4.9 10.3z"/>', "idle" => '<circle cx="6" cy="6" r="2.2"/>'
      }.freeze
      UNSAFE_IN_PATH = /[^A-Za-z0-9._~-]/n
      UNITS = %w[B KB MB GB TB].freeze
      private_constant :SHAPES, :UNSAFE_IN_PATH, :UNITS

      # @param number [Integer, nil]
      # @return [String] such as "1,204,331"; "–" for nil
      def count(number) = number.nil? ? "–" : number.to_s.gsub(/(\d)(?=(\d{3})+\z)/, "\\1,")

      # @return [String] such as "2m10s"; "–" for nil
      def duration(seconds) = seconds.nil? ? "–" : Kafka::Reporting::Wording.duration(seconds)

      # @return [String] a second's messages
      def rate(number) = number.nil? ? "–" : format(number < 10 ? "%.1f" : "%.0f", number)

      # @param bytes [Integer, nil]
      def size(bytes)
        return "–" if bytes.nil?

        power = UNITS.each_index.find { |index| bytes < 1000**(index + 1) } || (UNITS.size - 1)
        power.zero? ? "#{bytes} B" : format("%.1f %s", bytes.fdiv(1000**power), UNITS[power])
      end

      # @param time [String, nil] ISO 8601
      # @return [String] as people read it
      def moment(time) = time.nil? ? "–" : time.sub("T", " ").sub(/(\.000)?Z\z/, "")

      # @return [SafeString] a state as a shape and a word
      # @param kind [String] "bad", "warn", "ok" or "idle"
      def state(kind, word)
        shape = %(<svg class="shape" aria-hidden="true" viewBox="0 0 12 12">#{SHAPES.fetch(kind)}</svg>)
        raw(%(<span class="state #{kind}">#{shape}#{h(word)}</span>))
      end

      # @param parts [Array<String, Integer>] of a path below the dashboard's
      # @return [String] the address of a page, in the theme of this one
      def to(page, *parts, **query)
        escape = ->(text) { text.to_s.b.gsub(UNSAFE_IN_PATH) { |byte| format("%%%02X", byte.ord) } }
        pairs = {**query, theme: page[:theme]}.compact.map { |name, value| "#{name}=#{escape.call(value)}" }
        "#{page[:prefix]}/#{parts.map(&escape).join("/")}#{"?#{pairs.join("&")}" if pairs.any?}"
      end
    end
  end
end
