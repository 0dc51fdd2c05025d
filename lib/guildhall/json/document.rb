# frozen_string_literal: true

require_relative "../document"

module Guildhall
  class JSON
    # A JSON object or array that is read where it lies: frozen, shareable, one object for the garbage collector
    # however large the text is. A field is made when it is asked for, and made again when it is asked for again.
    #
    # Neither a Hash nor an Array: {ObjectDocument} and {ArrayDocument} read like them, and become them by an
    # explicit `to_h` or `to_a`.
    class Document
      include Guildhall::Document

      # @!method source
      #   @return [String, nil] the bytes it was read from; nil where duplicate keys were left out

      # @!method detach
      #   @return [Document] the same contents with bytes of its own: for a small part that is kept long, which would
      #     keep the whole text alive

      # @param path [String, Path] a JSONPath such as `$.items[*].sku`; made once with {Path} where it is used often
      # @return [Array] frozen: every value it leads to
      def path(path)
        (path.is_a?(Path) ? path : Path.new(path)).of(self)
      end

      # @return [String] JSON: the bytes it was read from
      def to_json(*)
        source || JSON.encode(decode)
      end
    end
  end
end
