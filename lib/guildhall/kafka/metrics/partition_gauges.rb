# frozen_string_literal: true

module Guildhall
  module Kafka
    module Metrics
      # Gauges of single partitions. A gauge keeps its last value in Prometheus and OpenTelemetry: once a partition belongs to another
      # process, its gauges are set to 0 here, so that a sum over all processes counts it once. Used by one thread.
      class PartitionGauges
        # @yieldparam name [String] of a metric
        # @yieldparam place [Hash{Symbol=>Object}] group, topic and partition
        def initialize(&record)
          @record = record
          @names = {} # of the gauges that were set, by place
        end

        # @param values [Hash{String=>Numeric}] by metric
        def set(place, values)
          @names[place] = [*@names[place], *values.keys].uniq
          values.each { |name, value| @record.call(name, value, place) }
        end

        # @param places [Array<Hash{Symbol=>Object}>] of the partitions that are assigned to this process
        # @param except [Array<String>] groups whose gauges stay as they are
        # @return [Array<Hash{Symbol=>Object}>] the places whose gauges were set to 0
        def reset_all_but(places, except: [])
          gone = @names.keys.reject { |place| places.include?(place) || except.include?(place[:group]) }
          gone.each do |place|
            @names.delete(place).each { |name| @record.call(name, 0, place) }
          end
        end
      end
    end
  end
end
