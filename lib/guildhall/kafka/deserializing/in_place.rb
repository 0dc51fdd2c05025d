# frozen_string_literal: true

module Guildhall
  module Kafka
    module Deserializing
      # The first stage of a pipeline whose payloads are records: decodes each where its bytes lie.
      class InPlace
        # The same pipeline for records. Its stages keep their names.
        # @param pipeline [Pipeline] that begins with a codec with a native decoder
        def self.begin_of(pipeline)
          first = Pipeline::Map.new(new(pipeline.decoder), name: pipeline.names.first)
          Pipeline.new([first, *pipeline.stages.drop(1)])
        end

        # @param codec [Codec] with a native decoder
        def initialize(codec)
          @codec = codec
          freeze
        end

        # @return [Object] what the codec makes of the payload
        def call(record)
          record.decode(@codec)
        end
      end
    end
  end
end
