# frozen_string_literal: true

require_relative "../document/map"

module Guildhall
  class MessagePack
    # A map read where it lies. Reads like a Hash; what is nested comes as a Document. A map may say a key twice: the
    # last one counts, and `size` and `each` show both.
    class MapDocument < Document
      include Guildhall::Document::Map
    end
  end
end
