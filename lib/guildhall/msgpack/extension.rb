# frozen_string_literal: true

module Guildhall
  class MessagePack # rubocop:disable Lint/EmptyClass -- the class is made in C; this is its documentation
    # @!parse
    #   # An extension as it is: its type, -128 to 127, and its payload, a binary String. What `allow_unknown_ext: true`
    #   # gives for types that are not registered; encodes to the bytes it came from. Defined in C.
    #   class Extension < Data
    #     # @return [Integer]
    #     attr_reader :type
    #     # @return [String]
    #     attr_reader :payload
    #   end
  end
end
