# frozen_string_literal: true

require_relative "../document/map"

module Guildhall
  class JSON
    # A JSON object read where it lies. Reads like a Hash; what is nested comes as a Document.
    class ObjectDocument < Document
      include Guildhall::Document::Map

      # @!method [](key)
      #   @param key [String, Symbol] a Symbol where the codec has `symbolize_names`, else a String
      # @!method key?(key)
      # @!method each
      #   @yield [key, value]
      # @!method keys
      # @!method values
    end
  end
end
