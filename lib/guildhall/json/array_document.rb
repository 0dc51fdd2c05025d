# frozen_string_literal: true

require_relative "../document/list"

module Guildhall
  class JSON
    # A JSON array read where it lies. Reads like an Array; what is nested comes as a Document.
    class ArrayDocument < Document
      include Guildhall::Document::List

      # @!method at(position)
      #   @return [Object, nil]
      # @!method [](position)
      #   @param position [Integer, Range] as Array#[] takes it, also with a length
      #   @return [Object, Array, nil]
      # @!method each
      #   @yield [element]
      #   @return [self, Enumerator]
      # @!method elements
      #   @return [Array] frozen; what is nested as Documents
    end
  end
end
