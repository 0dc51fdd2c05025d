# frozen_string_literal: true

require "json"
require "zlib"

module Demo
  # Messages made of real GitHub webhook deliveries, the same ones in the same order each time; one in 500 is broken
  # on purpose.
  class Corpus
    PATH = File.expand_path("../../vendor/webhooks/webhooks-examples/api.github.com/index.json", __dir__)
    EVERY = 500
    Message = Data.define(:key, :payload, :event)
    # What can be wrong with a payload, by the name the demo gives it.
    BREAKS = {
      "cut in half" => ->(payload) { payload.byteslice(0, payload.bytesize / 2) },
      "invalid UTF-8" => ->(payload) { payload.sub('":"', "\":\"\xFF\xFE") },
      "empty" => ->(_) { "" },
      "not JSON" => ->(_) { "event=push&ref=refs%2Fheads%2Fmain" },
      "not as agreed" => ->(_) { '{"repository":"a name where an object belongs"}' },
      "tombstone" => ->(_) {}
    }.freeze

    # @param size [Integer] how many messages
    def initialize(size)
      @size = size
      @deliveries = load_deliveries
    end

    attr_reader :size

    # @yieldparam message [Message]
    # @return [Enumerator] without a block
    def each
      return enum_for(:each) { @size } unless block_given?

      @size.times { |index| yield message(index) }
    end

    # @return [Integer] the partition a message belongs to, by its key: a delivery's messages stay in order
    def self.partition(key, partitions)
      Zlib.crc32(key) % partitions
    end

    private

    def message(index)
      event, payload = @deliveries[index % @deliveries.size]
      if (index % EVERY) == EVERY / 2
        kind = BREAKS.keys[(index / EVERY) % BREAKS.size]
        payload = BREAKS.fetch(kind).call(payload)
      end
      Message.new(key: "delivery-#{index}", payload:, event:)
    end

    def load_deliveries
      abort("bin/demo: the webhooks are not there; run bin/setup") unless File.exist?(PATH)

      JSON.parse(File.read(PATH, encoding: "UTF-8")).flat_map do |event|
        event["examples"].map { |example| [event["name"], JSON.generate(example)].freeze }
      end
    end
  end
end
