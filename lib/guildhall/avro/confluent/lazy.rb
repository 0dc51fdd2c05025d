# frozen_string_literal: true

require_relative "../lazy"

module Guildhall
  class Avro
    class Confluent
      # As {Confluent}, with Documents. Its native decoder knows the schemas that have been fetched; payloads of others
      # are left for `decode`.
      class Lazy < Avro::Lazy
        # (see Confluent#prepare)
        def prepare(payloads)
          @codec.prepare(payloads)
          self
        end

        # (see Confluent#decode_batch)
        def decode_batch(payloads)
          prepare(payloads) if Ractor.main?
          super
        end

        # @return [SchemaRegistry]
        def registry = @codec.registry
      end
    end
  end
end
