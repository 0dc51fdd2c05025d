# frozen_string_literal: true

require "date"
require "guildhall/document"
require "guildhall/json"
require "guildhall/printable"

module Guildhall
  class Web
    # What nobody sees of a topic's messages: fields of payloads, by their paths, the key, headers. Fields are looked for in what the
    # payload is decoded to. Frozen.
    # @api private
    class Hidden
      TEXT = "[hidden]"
      PLAIN = [String, Numeric, Symbol, Time, Date, true, false, nil].freeze
      FORMS = "a path of names, * and .., such as $.card or $.items[*].card, or key, or headers.NAME"
      # It may quote the payload.
      QUOTING = "source_error_message"
      private_constant :PLAIN, :FORMS, :QUOTING

      # @param hide [Array<String>, Hash{String=>Array<String>}] see {Web#initialize}
      # @return [Hash{String=>Hidden}] by topic; the default is what is hidden in topics that are not named: what is hidden anywhere,
      #   because dead letters, retries and copies are in topics of other names
      # @raise [Guildhall::ArgumentError]
      def self.by_topic(hide)
        named = hide.respond_to?(:to_hash) ? hide.to_hash : {}
        named = named.to_h { |topic, entries| [topic.to_s, [*entries]] }
        everywhere = new(hide.respond_to?(:to_hash) ? named.values.flatten.uniq : [*hide])
        Hash.new(everywhere).merge!(named.transform_values { |entries| new(entries) }).freeze
      end

      # @return [Array<String>] as they were given
      attr_reader :entries
      # @return [Boolean]
      attr_reader :key

      def initialize(entries)
        @entries = entries.map { |entry| String(entry) }.freeze
        paths, others = @entries.partition { |entry| entry.start_with?("$") }
        @key = !others.delete("key").nil?
        @headers = others.map { |entry| entry[/\Aheaders\.(.+)\z/m, 1] || refuse(entry) }
        @headers << QUOTING if paths.any?
        # The steps of all paths one after the other, nil at the end of each: a place in a payload is how far one is on some of them.
        @steps = paths.flat_map { |path| [*steps(path), nil] }
        @root = @steps.each_index.select { |index| index.zero? || @steps[index - 1].nil? }
        Ractor.make_shareable(self)
      end

      # @return [Boolean] whether fields of payloads are
      def fields? = @root.any?

      # @return [Boolean] in whatever case
      def header?(name) = @headers.any? { |one| same?(one, name) }

      # @return [Array<Integer>] the place of the whole payload
      attr_reader :root

      # @param key [String, nil] of a member; nil: an element of an array
      # @return [Array<Integer>] the place of what is there
      def below(place, key)
        place.flat_map do |index|
          descend, selectors = @steps[index]
          taken = selectors.any? { |selector| selector == :all || (key && same?(selector, key)) }
          [*(index if descend), *(index + 1 if taken)]
        end.uniq
      end

      # @return [Boolean] whether what is at a place is hidden
      def at?(place) = place.any? { |index| @steps[index].nil? }

      # A condition of payloads as far as they can be seen.
      Condition = Data.define(:condition, :hidden) do
        def true_for?(payload) = condition.true_for?(hidden.without(payload))

        # Payloads that are passed over because they do not contain it would tell what is hidden.
        def literal = nil
      end

      # The members of an object that are not hidden: whoever asks for one that is, is refused.
      class Members < ::Hash
        def hide(name) = (@hidden ||= []) << name

        def key?(name)
          return super unless @hidden&.include?(name.to_s)

          raise Access::Refused, "You may not search in #{Printable.words(Printable.utf8(name.to_s), 100)}: it is hidden here."
        end
      end
      private_constant :Members

      # @param condition [String]
      # @return [JSON::Path::Condition, Condition]
      # @raise [Guildhall::ArgumentError]
      def condition(condition)
        compiled = JSON::Path::Condition.new(condition)
        fields? ? Condition.new(compiled, self) : compiled
      end

      # @param payload [Object] decoded
      # @return [Hash, Array, nil] for a {Condition}; nil: it has no fields, so that what it contains cannot be told
      def without(payload)
        return if at?(root)

        seen = copy(payload, root)
        seen if seen.is_a?(Hash) || seen.is_a?(Array)
      end

      # @param payload [Object] decoded
      # @return [String, nil] as JSON, with nothing but members and elements by which hidden fields can be told; nil: it is no such payload
      def text(payload)
        text = JSON.encode(JSON::Document === payload ? payload : copy(payload, []))
        text if JSONText.it?(text)
      rescue EncodeError
        nil
      end

      private

      def same?(one, other) = one.casecmp?(Printable.valid(other))

      def refuse(entry) = raise(Guildhall::ArgumentError, "hide: takes #{FORMS}, not #{entry.inspect}")

      def steps(path)
        JSON::Path::Parser.new(path).query.segments.each do |_, selectors|
          refuse(path) unless selectors.all? { |selector| selector == :all || selector.is_a?(String) }
        end
      end

      def copy(value, place)
        case (value = Document.plain(value))
        when Hash then members(value, place)
        when Array then elements(value, below(place, nil))
        when *PLAIN then value
        else copy(value.to_h, place) if value.respond_to?(:to_h)
        end
      end

      def members(hash, place)
        found = hash.each_with_object(Members.new) do |(name, value), copies|
          inner = below(place, name.to_s)
          at?(inner) ? copies.hide(name.to_s) : copies[name] = copy(value, inner)
        end
        found.freeze
      end

      def elements(array, place) = at?(place) ? [] : array.map { |element| copy(element, place) }
    end
  end
end
