# frozen_string_literal: true

module Guildhall
  module Kafka
    class Partition
      # Stands for {OffsetStore} where there is no consumer group: nothing is committed.
      class NoOffsetStore
        def write(_offset, _metadata = nil) = true

        def commit = true

        def committed = [nil, nil]

        def rewind; end

        def dismiss; end
      end
    end
  end
end
