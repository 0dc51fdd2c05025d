# frozen_string_literal: true

require_relative "../document/map"

module Guildhall
  class JSON
    # A JSON object read where it lies. Reads like a Hash; what is nested comes as a Document.
    class ObjectDocument < Document
      include Guildhall::Document::Map

      # @!method [](key)
      #   @param key [String, Symbol] a Symbol where the codec has `symbolize_names`, else a String
      #   @return [Object, nil]
      # @!method key?(key)
      #   @return [Boolean]
      # @!method each
      #   @yield [key, value]
      #   @return [self, Enumerator]
      # @!method keys
      #   @return [Array]
      # @!method values
      #   @return [Array]
    end
  end
end
