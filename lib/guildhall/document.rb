# frozen_string_literal: true

module Guildhall
  # What Documents of every format have in common: a payload that is read where it lies, frozen, shareable, one object
  # for the garbage collector however large it is. A field is made when it is asked for, and made again when it is
  # asked for again.
  #
  # Code written for the frozen Hash or Array that `decode` gives does the same with a Document, or raises; what differs
  # is listed in docs/documents.md. A Document answers what it can without decoding the rest; every other
  # method of Hash or Array is called on the decoded contents, which are frozen: what would change them raises FrozenError.
  #
  # Conversions (`to_h`, `to_hash`, `to_a`, `to_ary`) give plain objects all the way down; `[]`, `each`, `values` and
  # whatever selects give nested Documents. A format's classes bring `size`, `dig` and `decode`; maps `[]`, `key?`, `each`,
  # `keys` and `values`, and the private `named_members`; lists `at`, `[]`, `each` and `elements`.
  module Document
    include Enumerable

    # @return [Object] the Hash or Array of a Document; anything else as it is
    def self.plain(object) = Document === object ? object.decode : object

    # Decoders give the same object for equal parts; YAML would write aliases for them, which hardly anybody reads.
    # @api private
    # @param levels [Numeric] how deep they may be nested
    # @return [Object] plain Hashes and Arrays, each of which occurs once
    # @raise [EncodeError] where they are nested deeper, or within themselves
    def self.unshared(object, levels = Float::INFINITY)
      raise EncodeError, "nested deeper than max_nesting; does it contain itself?" if levels.negative?

      case (object = plain(object))
      when Hash then object.to_h { |key, value| [unshared(key, levels - 1), unshared(value, levels - 1)] }
      when Array then object.map { |element| unshared(element, levels - 1) }
      else object
      end
    end

    # @!method size
    #   @return [Integer] pairs or elements
    # @!method dig(key, *keys)
    #   Reads a field at any depth without making what lies between.
    # @!method decode
    #   @return [Hash, Array] all of it, frozen

    def length = size

    def empty? = size.zero?

    # @return [Integer] without an argument and block: {#size}
    def count(*arguments, &)
      arguments.empty? && !block_given? ? size : super
    end

    # @return [Boolean] whether the contents, or the Hash or Array given, are `eql?`
    def eql?(other) = equal?(other) || decode.eql?(Document.plain(other))

    # @return [Integer] the hash of the Hash or Array
    def hash = decode.hash

    # @return [Boolean] also true for Hash or Array, whose methods it has. (`Hash === document` is false: Ruby asks the class.)
    def is_a?(type) = super || plain_class <= type || false
    alias kind_of? is_a?

    # @return [Hash] as Hash#tally: its keys are plain
    def tally(...) = decode.tally(...)

    def to_set(...) = decode.to_set(...)

    # @return [Array] without repetitions
    def uniq(&) = block_given? ? super : decode.uniq

    # @return [Hash] as Enumerable#group_by; Documents among the keys are decoded, so that Arrays find them
    def group_by(&) = block_given? ? super.transform_keys { |key| Document.plain(key) } : super

    # @return [String] as the json gem, or Active Support where it is loaded, writes the Hash or Array
    def to_json(*) = decode.to_json(*)

    # @return [Hash, Array] for Rails: plain objects
    def as_json(*)
      plain = decode
      plain.respond_to?(:as_json) ? plain.as_json(*) : plain
    end

    # @return [String] for Rails, where the Hash or Array has it
    def to_param = decode.to_param
    # @return [String] for Rails, where the Hash or Array has it
    def to_query(...) = decode.to_query(...)

    # For Marshal, and the caches that use it: what is loaded is a plain Hash or Array.
    def _dump(_level) = Marshal.dump(decode)

    # The other half of {#_dump}, for the classes of Documents.
    # @api private
    module Loading
      # @api private
      def _load(dumped) = Marshal.load(dumped) # rubocop:disable Security/MarshalLoad -- Marshal itself calls it
    end

    # @return [Document] itself: it cannot change
    def dup = self
    # @return [Document] itself
    def clone(**) = self

    # Shows the shape: scalars as they are, what is nested by its size.
    def inspect
      "#<#{self.class} #{shape}>"
    end

    # @return [String] as the Hash or Array has it
    def to_s = decode.to_s

    # For `pp`: the whole contents.
    def pretty_print(printer)
      printer.group(2, "#<#{self.class}", ">") do
        printer.breakable
        printer.pp(decode)
      end
    end

    # @return [Boolean] whether the Hash or Array responds to it
    def respond_to_missing?(name, include_private = false) = plain_class.public_method_defined?(name) || super

    private

    def method_missing(name, ...)
      return super unless plain_class.public_method_defined?(name)

      plain = decode
      begin
        plain.public_send(name, ...)
      rescue FrozenError => error
        raise unless refused_by?(plain, error)

        text = "can't modify frozen #{self.class}: payloads are frozen: use #{Redaction.copy_of(plain)}"
        raise FrozenError.new(text, receiver: self), cause: nil
      end
    end

    # Not what a block has tried to change.
    def refused_by?(plain, error)
      error.receiver.equal?(plain)
    rescue ::ArgumentError # it does not know
      false
    end

    SHOWN = 8 # fields or elements
    SHOWN_CHARACTERS = 60 # of a string
    private_constant :SHOWN, :SHOWN_CHARACTERS

    def brief(value)
      case value
      when Map then value.empty? ? "{}" : "{… #{value.size}}"
      when List then value.empty? ? "[]" : "[… #{value.size}]"
      when String then value.length > SHOWN_CHARACTERS ? "#{value[0, SHOWN_CHARACTERS].inspect}…" : value.inspect
      else value.inspect
      end
    end
  end
end
