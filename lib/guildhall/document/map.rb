# frozen_string_literal: true

require_relative "../document"

module Guildhall
  module Document
    # A Document that reads like a Hash; what is nested comes as a Document.
    module Map
      include Document

      def self.included(base) = base.extend(Loading)

      def has_key?(key) = key?(key) # rubocop:disable Naming/PredicatePrefix -- as a Hash has it
      def include?(key) = key?(key)
      def member?(key) = key?(key)

      # @yield [key, value]
      def each_pair(&) = each(&)

      # @raise [KeyError] when there is no such key, no default and no block
      def fetch(key, default = (missing = true))
        return self[key] if key?(key)
        return yield(key) if block_given?
        raise KeyError.new("key not found: #{key.inspect}", receiver: self, key: key) if missing

        default
      end

      # @return [Hash] all of it, frozen; with a block as Hash#to_h
      def to_h(&) = block_given? ? pairs.to_h(&) : decode

      # Ruby asks for it: `**document`, `hash.merge(document)`, `Hash(document)`.
      # @return [Hash] all of it, frozen
      def to_hash = decode

      # @return [Array<Array(Object, Object)>] as Hash#to_a: a new one, whose keys and values are plain and frozen
      def to_a = decode.to_a
      alias entries to_a

      # @return [Hash] the pairs of these keys that are there, frozen
      def slice(*keys)
        keys.filter_map { |key| [key, self[key]] if key?(key) }.to_h.freeze
      end

      # @return [Hash] the pairs of all other keys, frozen
      def except(*keys)
        left_out = keys.to_h { |key| [key, true] }
        reject { |key, _| left_out.key?(key) }
      end

      # @return [Hash] frozen
      def select
        return to_enum(:select) { size } unless block_given?

        each_with_object({}) { |(key, value), kept| kept[key] = value if yield(key, value) }.freeze
      end
      alias filter select

      # @return [Hash] frozen
      def reject
        return to_enum(:reject) { size } unless block_given?

        select { |key, value| !yield(key, value) }
      end

      def transform_values
        return to_enum(:transform_values) { size } unless block_given?

        each_with_object({}) { |(key, value), made| made[key] = yield(value) }
      end

      # @param names [Array<Hash>] old names and new ones
      def transform_keys(*names, &) = pairs.transform_keys(*names, &)

      # @return [Hash] the pairs whose value is not nil, frozen
      def compact = reject { |_, value| value.nil? }

      # @return [Hash] for Rails, where Hash has it
      def compact_blank = decode.compact_blank

      # @return [Hash] a new one, as Hash#merge makes it; what is nested stays a Document
      def merge(*others, &) = pairs.merge(*others.map { |other| Map === other ? other.send(:pairs) : other }, &)

      def value?(value) = any? { |_, own| own == value }
      alias has_value? value?

      # @return [String, Symbol, nil] the first key that has this value
      def key(value)
        each { |key, own| return key if own == value }
        nil
      end

      def assoc(key) = key?(key) ? [key, self[key]] : nil

      # So that keys can be mapped to their values: `%w[id name].map(&document)`.
      # @return [Proc] a lambda
      def to_proc = method(:[]).to_proc

      def values_at(*keys) = keys.map { |key| self[key] }

      def fetch_values(*keys, &) = keys.map { |key| fetch(key, &) }

      def each_key(&)
        return to_enum(:each_key) { size } unless block_given?

        keys.each(&)
        self
      end

      def each_value(&)
        return to_enum(:each_value) { size } unless block_given?

        values.each(&)
        self
      end

      # For `doc => {user: {email:}}`: Symbols find String keys. Only what the pattern names is made.
      def deconstruct_keys(names)
        names ? named_members(names) : each_with_object({}) { |(key, value), found| found[symbol(key)] = value }
      end

      # @return [Boolean] the same pairs, in any order, as a Hash or another Document
      def ==(other)
        return true if equal?(other)
        return other.respond_to?(:to_hash) && other == decode unless Map === other || Hash === other

        decode == Document.plain(other)
      end

      # For Psych.
      # @api private
      def encode_with(coder)
        coder.represent_map(nil, Document.unshared(self))
        coder.implicit = true
      end

      private

      def plain_class = ::Hash

      # A key that cannot be a Symbol stays as it is.
      def symbol(key) = key.is_a?(String) && key.valid_encoding? ? key.to_sym : key

      # The top as a plain Hash; what is nested as Documents.
      def pairs = each_with_object({}) { |(key, value), made| made[key] = value }

      def shape
        return "{}" if empty?

        shown = first(SHOWN).map do |key, value|
          key.is_a?(Symbol) ? "#{key.inspect[1..]}: #{brief(value)}" : "#{key.inspect} => #{brief(value)}"
        end
        shown << "… #{size - SHOWN} more" if size > SHOWN
        "{#{shown.join(", ")}}"
      end
    end
  end
end
