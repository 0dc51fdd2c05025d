# frozen_string_literal: true

require "guildhall/kafka/reporting/record"
require_relative "schema"

module Guildhall
  class Web
    class Reports
      # Reads what a record of the topic says.
      module Record
        MAX_BYTES = 1_000_000 # as it was written
        MAX_KEPT = 200_000 # of JSON of events and errors, of which thousands are kept
        KEPT = %w[event error].freeze
        private_constant :KEPT

        # What cannot be used, and why, as {Reports::Store#skipped} counts it.
        class Skipped < StandardError
          include Error
        end

        class << self
          # @param record [Kafka::Record]
          # @return [Hash{String=>Object}] with the fields of {Schema}
          # @raise [Skipped]
          def read(record)
            bytes = record.raw_payload or raise Skipped, "without a value"
            raise Skipped, "too large" if bytes.bytesize > MAX_BYTES

            json = undamaged { Kafka::Reporting::Record.inflate(bytes) }
            data = undamaged { JSON.decode(json) }
            raise Skipped, "damaged" unless data.is_a?(Hash)
            raise Skipped, "too large" if json.bytesize > MAX_KEPT && KEPT.include?(data["kind"])
            raise Skipped, "of another version of the format" unless data["v"] == Kafka::Reporting::Report::VERSION

            shape = Schema::KINDS[data["kind"]] or raise Skipped, "of a kind that this page does not know"
            Schema.fit(data, shape) || raise(Skipped, "with fields missing")
          end

          private

          def undamaged
            yield
          rescue Zlib::Error, DecodeError
            raise Skipped, "damaged"
          end
        end
      end
    end
  end
end
