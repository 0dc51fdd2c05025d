# frozen_string_literal: true

module Guildhall
  class Encryption
    # Keys by their ids: those that were given, or fetched by a callable in the main Ractor. Frozen and shareable.
    # @api private
    class Keys
      BYTES = SecretKey::BYTES

      # @param id [Object] as it was given, or came in a header: of any encoding
      # @return [String] UTF-8
      def self.id(id) = id.to_s.dup.force_encoding(Encoding::UTF_8).freeze

      def initialize(keys)
        @known = SharedCache.new
        @fetch = keys.respond_to?(:call) ? Shareable.callable!(keys, "keys") : nil
        unless @fetch || (keys.is_a?(Hash) && keys.any?)
          raise Guildhall::ArgumentError, "keys are a Hash of key ids and keys of #{BYTES} bytes, or an object with `call`"
        end

        keys.each { |id, key| add(Keys.id(id), key) } unless @fetch
        @last = @fetch ? nil : Keys.id(keys.keys.last)
        Ractor.make_shareable(self)
      end

      # @return [String, nil] the id of the last one that was given
      attr_reader :last

      # @return [Array<String>] ids of the keys that are known
      def ids = @known.keys

      # @raise [UnknownKeyError]
      def fetch(id)
        @known[id] || (Ractor.main? && ask(id)) || raise(UnknownKeyError.new(reason(id), key_id: id))
      end

      def prepare(id)
        @known[id] || ask(id)
      end

      # @return [String] without keys
      def inspect = "#<#{self.class} #{ids.join(", ")}>"

      private

      def ask(id)
        key = @fetch&.call(id) or return
        add(id, key)
      end

      def add(id, key)
        name = id.bytesize == BYTES ? "whose id looks like a key (not shown)" : id
        unless id.bytesize.between?(1, Envelope::MAX_ID_BYTES)
          raise Guildhall::ArgumentError, "a key id has 1 to #{Envelope::MAX_ID_BYTES} bytes"
        end

        @known.add(id.dup.freeze, usable(name, key))
      end

      def usable(name, key)
        return key if key.is_a?(PublicKey) || key.is_a?(PrivateKey)
        return SecretKey.new(key) if key.is_a?(String) && key.bytesize == BYTES

        raise Guildhall::ArgumentError, "the key #{name} is not a String of #{BYTES} bytes: AES-256 needs that many"
      end

      def reason(id)
        return "there is no key #{id}; known are #{ids.join(", ")}" unless @fetch && !Ractor.main?

        "the key #{id} is not here: there is none, or prepare(payloads) was not called before the batch was dispatched"
      end
    end
  end
end
