# frozen_string_literal: true

require "zlib"
require "guildhall/json"

module Guildhall
  module Kafka
    module Reporting
      # How a record is written into the topic of reports: JSON, deflated. Any Ractor.
      # @api private
      module Record
        LEVEL = Zlib::BEST_SPEED
        MAX_BYTES = 33_554_432 # of JSON: whoever may write to the topic must not fill the memory of those who read it
        private_constant :LEVEL, :MAX_BYTES

        # @param record [Hash{String=>Object}]
        # @return [String]
        def self.encode(record) = Zlib::Deflate.deflate(JSON.encode(record), LEVEL)

        # @return [Hash{String=>Object}]
        # @raise [Zlib::Error, DecodeError] for what is no such record
        def self.call(bytes) = JSON.decode(inflate(bytes))

        # @return [String] JSON
        # @raise [Zlib::Error]
        def self.inflate(bytes)
          json = +""
          inflater = Zlib::Inflate.new
          inflater.inflate(bytes) do |part|
            json << part
            raise Zlib::DataError, "more than #{MAX_BYTES} bytes of JSON" if json.bytesize > MAX_BYTES
          end
          inflater.finish
          json
        ensure
          inflater&.reset # else Ruby warns where something was raised
          inflater&.close
        end
      end
    end
  end
end
