# frozen_string_literal: true

module Guildhall
  # What Documents of every format have in common: a payload that is read where it lies, frozen, shareable, one object
  # for the garbage collector however large it is. A field is made when it is asked for, and made again when it is
  # asked for again.
  #
  # Neither a Hash nor an Array: those that include {Map} and {List} read like them, and become them by an explicit
  # `to_h` or `to_a`. A format's classes bring `size`, `dig` and `decode`; maps `[]`, `key?`, `each`, `keys` and
  # `values`, and the private `named_members`; lists `at`, `[]`, `each` and `elements`.
  module Document
    include Enumerable

    # @!method size
    #   @return [Integer] pairs or elements
    # @!method dig(key, *keys)
    #   Reads a field at any depth without making what lies between.
    #   @return [Object, nil]
    # @!method decode
    #   @return [Hash, Array] all of it, frozen

    # @return [Integer]
    def length = size

    # @return [Boolean]
    def empty? = size.zero?

    # @return [Integer] without an argument and block: {#size}
    def count(*arguments, &)
      arguments.empty? && !block_given? ? size : super
    end

    # Documents of equal contents are `eql?` and have the same hash.
    def eql?(other)
      equal?(other) || (other.is_a?(self.class) && decode.eql?(other.decode))
    end

    # @return [Integer]
    def hash = decode.hash

    # @return [Hash, Array] for Rails: plain objects
    def as_json(*) = decode

    # @return [Document] itself: it cannot change
    def dup = self
    # @return [Document] itself
    def clone(**) = self

    # Shows the shape: scalars as they are, what is nested by its size.
    # @return [String]
    def inspect
      "#<#{self.class} #{shape}>"
    end
    alias to_s inspect

    # For `pp`: the whole contents.
    def pretty_print(printer)
      printer.group(2, "#<#{self.class}", ">") do
        printer.breakable
        printer.pp(decode)
      end
    end

    private

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
