# frozen_string_literal: true

module Guildhall
  class Avro
    module Container
      module Compression
        # Not at all.
        module Null
          def self.compress(bytes) = bytes
          def self.decompress(bytes, _limit) = bytes
        end
      end
    end
  end
end
