# frozen_string_literal: true

module Guildhall
  class Schema
    # The location of a schema: in which document, below which pointer, with which base URI.
    #
    # - `schema` [Hash, true, false]
    # - `document` [String] the document's URI, "" where it has none
    # - `pointer` [String] from the document's root
    # - `base` [String] what relative references are resolved against
    # - `dialect` [Dialect]
    Location = Data.define(:schema, :document, :pointer, :base, :dialect) do
      # @return [String] unique; error messages show it
      def address
        "#{document}##{pointer}"
      end

      def pointer_to(*tokens)
        pointer + Pointer.build(tokens)
      end
    end
  end
end
