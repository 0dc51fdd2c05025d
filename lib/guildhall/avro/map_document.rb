# frozen_string_literal: true

require_relative "../document/map"

module Guildhall
  class Avro
    # A record or a map read where it lies. Reads like a Hash; what is nested comes as a Document, what the reader's
    # schema fills in (a default) as a plain value. A field is found by reading the fields before it in its record.
    class MapDocument < Document
      include Guildhall::Document::Map

      # @!method type_name
      #   @return [String, nil] the record's full name; nil for a map
    end
  end
end
