# frozen_string_literal: true

require "zlib"
require "test_helper"
require "guildhall/kafka"

class KafkaReportRecordTest < GuildhallTest
  Record = Guildhall::Kafka::Reporting::Record

  def test_there_and_back
    record = {"v" => 1, "kind" => "state", "at" => 1.5, "topics" => [{"topic" => "größe"}]}
    bytes = Record.encode(record)
    assert_equal [record, JSON.generate(record)], [Record.call(bytes), Zlib::Inflate.inflate(bytes).force_encoding("UTF-8")]
    assert_equal record, Ractor.new(bytes) { |text| Guildhall::Kafka::Reporting::Record.call(text) }.then { |ractor| ractor.respond_to?(:value) ? ractor.value : ractor.take }
  end

  def test_what_is_no_record
    assert_raises(Zlib::Error) { Record.call("{}") }
    assert_raises(Zlib::Error) { Record.call(Record.encode({"a" => "b" * 100})[0, 10]) }
    assert_raises(Guildhall::DecodeError) { Record.call(Zlib::Deflate.deflate("{")) }
    assert_raises(Zlib::DataError) { Record.call(Zlib::Deflate.deflate(" " * 40_000_000)) }
  end
end
