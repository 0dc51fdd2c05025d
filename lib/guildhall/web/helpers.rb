# frozen_string_literal: true

require "erb/util"
require "guildhall/printable"
require "guildhall/kafka/reporting/attention"

module Guildhall
  class Web
    # What templates may call.
    # @api private
    module Helpers
      SHAPES = {
        "bad" => '<rect x="1.5" y="1.5" width="9" height="9"/>', "warn" => '<path d="M6 1 11.5 11H.5z"/>',
        "lost" => '<path d="m2.4 1 3.6 3.6L9.6 1 11 2.4 7.4 6 11 9.6 9.6 11 6 7.4 2.4 11 1 9.6 4.6 6 1 2.4z"/>',
        "dead" => '<path d="M6 .5 11.5 6 6 11.5.5 6z"/>', "rest" => '<path d="M2 1.5h3v9H2zM7 1.5h3v9H7z"/>',
        "ok" => '<path d="M1.2 6.6 2.6 5.2 4.9 7.5 9.6 2.6 11 4 4.9 10.3z"/>', "idle" => '<circle cx="6" cy="6" r="2.2"/>'
      }.freeze
      private_constant :SHAPES

      # @param number [Integer, nil]
      # @param noun [String, nil] what is counted
      # @return [String] such as "1,204,331" or "1 partition"; "–" for nil
      def count(number, noun = nil, plural = "#{noun}s")
        [number.nil? ? "–" : Printable.number(number), *((number == 1 ? noun : plural) if noun)].join(" ")
      end

      # @return [String] such as "2m10s"; "–" for nil
      def duration(seconds) = seconds.nil? ? "–" : Printable.duration(seconds)

      # @param seconds [Numeric, nil] how old the oldest message is
      # @param over [Boolean] whether that is very old: it is red then
      # @return [SafeString]
      def age(seconds, over)
        raw(%(<span#{' class="over"' if over}>#{h(duration(seconds))}</span>))
      end

      # @return [String] such as "1.2 ms"; "–" for nil
      def milliseconds(seconds) = seconds.nil? ? "–" : format("%.1f ms", seconds * 1000)

      # @return [String] a second's messages
      def rate(number) = number.nil? ? "–" : number < 10 ? format("%.1f", number) : count(number.round)

      # @param bytes [Integer, nil]
      def size(bytes) = bytes.nil? ? "–" : Printable.size(bytes)

      # @param seconds [Float, nil] since 1970
      # @return [String] the time of day, in UTC
      def clock(seconds) = seconds.nil? ? "–" : Time.at(seconds).utc.strftime("%H:%M:%S")

      # @return [String] such as "812 MiB", as it is said of processes; "–" for nil
      def memory(bytes) = bytes.nil? ? "–" : "#{count(bytes / 1_048_576)} MiB"

      # @param process [String] as reports name it
      def short(process) = Kafka::ProcessName.short(process)

      # @return [String] with a capital letter, unless it begins with a name
      def sentence(text) = text.match?(/\A[a-z]+(?:[ ,]|\z)/) ? "#{text[0].upcase}#{text[1..]}" : text

      # @param time [String, nil] ISO 8601
      # @return [String] as people read it
      def moment(time) = time.nil? ? "–" : time.sub("T", " ").sub(/(\.000)?Z\z/, "")

      # @return [SafeString] a state as a shape and a word
      # @param kind [String] "bad", "warn", "ok", "rest" or "idle"
      # @param shape [String] another one than that of the kind: "lost" or "dead"
      def state(kind, word, shape = kind)
        shape = %(<svg class="shape" aria-hidden="true" viewBox="0 0 12 12">#{SHAPES.fetch(shape)}</svg>)
        raw(%(<span class="state #{kind}">#{shape}#{h(word)}</span>))
      end

      # @param parts [Array<String, Integer>] of a path below the dashboard's
      # @return [String] the address of a page, with what this one's address has that links keep
      def to(page, *parts, **query)
        pairs = {**query, **page[:kept]}.compact.flat_map do |name, value|
          value.is_a?(Array) ? value.map { |one| "#{name}[]=#{ERB::Util.url_encode(one)}" } : "#{name}=#{ERB::Util.url_encode(value)}"
        end
        "#{page[:prefix]}/#{parts.map { |part| ERB::Util.url_encode(part) }.join("/")}#{"?#{pairs.join("&")}" if pairs.any?}"
      end
    end
  end
end
