# frozen_string_literal: true

require "ffi"
require "rbconfig"
require "tmpdir"

# A librdkafka with one partition, whose messages a test makes up: for what no broker can be brought to do.
class FakeLibrdkafka
  SOURCE = File.expand_path("fake_librdkafka.c", __dir__)
  # In the order of Guildhall::Kafka::Reading::Reader::FUNCTIONS.
  FUNCTIONS = %w[consume destroy timestamp headers header topic error get_consumer get_partition forward destroy_queue enable].freeze
  HUGE = 1 << 60 # bytes that no machine has

  # For tests: one of their own, and the reader that they make of it, which is closed.
  module Tested
    def setup
      require "guildhall/kafka/native"
      @kafka = FakeLibrdkafka.new
    end

    def teardown = @reader&.close
  end

  # Another file each time, so that each has its own messages.
  def initialize
    Dir.mktmpdir("guildhall") do |folder|
      file = File.join(folder, "fake.so")
      system(RbConfig::CONFIG["CC"].split.first, "-shared", "-fPIC", "-w", "-o", file, SOURCE, exception: true)
      @library = FFI::DynamicLibrary.open(file, FFI::DynamicLibrary::RTLD_NOW)
    end
    @push = FFI::Function.new(:void, %i[buffer_in size_t size_t], @library.find_function("fake_push"))
  end

  # @return [Guildhall::Kafka::Reading::Reader] of the partition "t", 0, whose messages it may take
  # @param literal [String, nil] messages that lack it are passed over, up to the offset
  def reader(codec = nil, literal = nil, end_offset = 1 << 40)
    reader = Guildhall::Kafka::Reading::Reader.new(1, FUNCTIONS.map { |name| @library.find_function("fake_#{name}").address })
    reader.open("t", 0, :owner, codec, literal, end_offset).allow(1_000, 1 << 20)
    reader
  end

  # @param payload [String, nil] nil: a tombstone
  # @param length [Integer] what the message says that it has
  # @return [void]
  def push(payload, length = payload.to_s.bytesize)
    @push.call(payload, payload.to_s.bytesize, length)
  end
end
