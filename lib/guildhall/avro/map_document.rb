# frozen_string_literal: true

require_relative "../document/map"

module Guildhall
  class Avro
    # A record or a map read where it lies. Reads like a Hash; what is nested comes as a Document, what the reader's
    # schema fills in (a default) as a plain value. A field is found by reading what stands before it in its record.
    class MapDocument < Document
      include Guildhall::Document::Map
    end
  end
end
