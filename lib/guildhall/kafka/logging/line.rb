# frozen_string_literal: true

module Guildhall
  module Kafka
    module Logging
      # A line for people that also has its parts for machines. A String, so that every Logger prints it as it is.
      class Line < String
        # @return [Hash{Symbol=>Object}] `event:` and the event's payload
        attr_reader :fields

        def initialize(text, fields)
          super(text)
          @fields = fields
        end
      end
    end
  end
end
