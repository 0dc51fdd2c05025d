# frozen_string_literal: true

require_relative "../document/list"

module Guildhall
  class JSON
    # A JSON array read where it lies. Reads like an Array; what is nested comes as a Document.
    class ArrayDocument < Document
      include Guildhall::Document::List

      # @!method at(position)
      # @!method [](position)
      #   @param position [Integer, Range] as Array#[] takes it, also with a length
      # @!method each
      #   @yield [element]
      # @!method elements
      #   @return [Array] frozen; what is nested as Documents
    end
  end
end
