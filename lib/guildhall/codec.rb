# frozen_string_literal: true

module Guildhall
  # What every codec has in common: it is frozen and shareable, turns bytes into frozen objects, and can be used
  # as a task or a pipeline's stage because it can be called.
  #
  # A codec implements `decode(bytes)`, and `encode(object)` where it can; it may offer `document(bytes)` (a lazy
  # view), {#native_decoder}, a {#decode_batch} that is faster than one call for each, and `inline_reason`: a String
  # that says why it runs in the main Ractor only.
  module Codec
    # @api private
    # @return [Symbol] the method that {#call} calls, for {Inspection}
    def self.called_by_call = :decode

    # @return [Object] frozen and shareable
    # @raise [DecodeError]
    def call(bytes)
      decode(bytes)
    end

    # @return [Array<Object>] in order
    # @raise [DecodeError] for the first that cannot be decoded
    def decode_batch(payloads)
      payloads.map { |bytes| decode(bytes) }
    end

    # The codec's decoder in C, for those who decode many payloads off the GVL (`guildhall/decoder.h`).
    # @return [Integer, nil] the address of a `guildhall_decoder`; nil when the codec has none
    def native_decoder
      nil
    end

    # As {#native_decoder}, but of what {#call} returns where that is no Document.
    # @return [Integer, nil] nil: the codec has none, or Ruby code has a part in its values, as in those of a subclass
    # @api private
    def value_decoder
      nil
    end
  end
end
