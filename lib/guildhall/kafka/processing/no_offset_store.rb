# frozen_string_literal: true

module Guildhall
  module Kafka
    module Processing
      # Stands for {OffsetStore} where there is no consumer group: nothing is committed.
      class NoOffsetStore
        # @return [true]
        def write(_offset, _metadata = nil) = true

        # @return [true]
        def commit = true

        # @return [Array(nil, nil)]
        def committed = [nil, nil]

        # @return [void]
        def rewind; end

        # @return [void]
        def dismiss; end
      end
    end
  end
end
