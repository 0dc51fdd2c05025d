# frozen_string_literal: true

module Guildhall
  class Pipeline
    # Gives `>>` to whatever can begin a pipeline: codecs, stages and pipelines.
    module Composable
      # @param following [#call] a stage, a pipeline, a codec (decodes) or any other callable (maps)
      # @raise [NotShareableError] naming the path to what cannot be shared
      def >>(following)
        Pipeline.new([self, following])
      end
    end
  end

  # Every codec can begin a pipeline once this part is loaded.
  module Codec
    include Pipeline::Composable
  end
end
