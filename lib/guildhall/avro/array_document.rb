# frozen_string_literal: true

require_relative "../document/list"

module Guildhall
  class Avro
    # An array read where it lies. Reads like an Array; what is nested comes as a Document.
    class ArrayDocument < Document
      include Guildhall::Document::List
    end
  end
end
