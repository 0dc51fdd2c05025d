# frozen_string_literal: true

require "test_helper"
require "guildhall/protobuf"
require "guildhall/pool"
require "support/protobuf_files"

class ProtobufTest < GuildhallTest
  ORDER = {"id" => 5, "items" => [{"sku" => "é", "quantity" => 2}], "at" => {"seconds" => 7, "nanos" => 0}, "labels" => {"a" => "b"}, "raw" => "\xff".b, "kind" => :PAID}.freeze

  def setup
    @codec = Guildhall::Protobuf.new(ProtobufFiles.set, message: "shop.Order")
  end

  def test_reads_and_writes
    bytes = @codec.encode(ORDER)
    assert_equal ORDER, @codec.decode(bytes)
    assert Ractor.shareable?(@codec.decode(bytes))
    assert_equal ORDER, @codec.decode(@codec.encode(@codec.message_class.new(id: 5, items: [{sku: "é", quantity: 2}], at: {seconds: 7}, labels: {"a" => "b"}, raw: "\xff".b, kind: :PAID)))
    assert_equal 5, Guildhall::Protobuf.new(@codec.message_class, symbolize_names: true).decode(bytes)[:id]
    assert Ractor.shareable?(@codec)
  end

  def test_fields_that_the_payload_does_not_have
    assert_equal({"id" => 0, "items" => [], "labels" => {}, "raw" => "", "kind" => :OPEN}, @codec.decode(""))
  end

  def test_messages_in_maps_are_read_as_everywhere_else
    codec = Guildhall::Protobuf.new(ProtobufFiles.set_of(ProtobufFiles.shelf), message: "shop.Shelf")
    shelf = {"items" => {"a" => {"items" => {}, "name" => "x"}}, "name" => ""}
    assert_equal shelf, codec.decode(codec.encode(shelf))
    symbols = Guildhall::Protobuf.new(codec.message_class, symbolize_names: true)
    assert_equal({items: {"a" => {items: {}, name: "x"}}, name: ""}, symbols.decode(codec.encode(shelf)))
  end

  def test_writes_documents_at_any_depth
    order = Guildhall::JSON.document('{"id":5,"items":[{"sku":"a"}],"labels":{"a":"b"}}')
    assert_equal "a", @codec.decode(@codec.encode(order))["items"][0]["sku"]
    assert_equal "a", @codec.decode(@codec.encode({"items" => [order["items"][0]], "labels" => order["labels"]}))["items"][0]["sku"]
    itself = {}
    itself["at"] = itself
    assert_raises(Guildhall::EncodeError) { @codec.encode(itself) }
  end

  def test_wrong_options_and_payloads
    assert_match(/symbolize_names/, assert_raises(Guildhall::ArgumentError) { Guildhall::Protobuf.new(@codec.message_class, symbolize_names: "no") }.message)
    assert_match(/max_bytes/, assert_raises(Guildhall::ArgumentError) { Guildhall::Protobuf.new(@codec.message_class, max_bytes: -1) }.message)
    assert_raises(TypeError) { @codec.decode(nil) }
  end

  def test_what_is_no_message
    error = assert_raises(Guildhall::DecodeError) { @codec.decode("\xff\xff") }
    assert_match(/not a shop.Order/, error.message)
    assert_raises(Guildhall::DecodeError) { Guildhall::Protobuf.new(@codec.message_class, max_bytes: 3).decode("\0" * 4) }
    [{"nope" => 1}, {"id" => "x"}, {"id" => 2**70}, {"items" => 3}, 5, nil, []].each { |object| assert_raises(Guildhall::EncodeError, object.inspect) { @codec.encode(object) } }
  end

  # The gem raises EncodingError and RuntimeError for them.
  def test_what_the_gem_cannot_write
    assert_raises(Guildhall::EncodeError) { @codec.encode({"labels" => {"a" => "\xff"}}) }
    assert_raises(Guildhall::EncodeError) { @codec.encode({"items" => [{"sku" => "\xff"}]}) }
    shelf = Array.new(200).reduce({"name" => "x"}) { |inner, _| {"items" => {"a" => inner}} }
    assert_raises(Guildhall::EncodeError) { Guildhall::Protobuf.new(ProtobufFiles.set_of(ProtobufFiles.shelf)).encode(shelf) }
  end

  def test_which_message
    assert_match(/shop.Order/, assert_raises(Guildhall::ArgumentError) { Guildhall::Protobuf.new(ProtobufFiles.set, message: "shop.Oder") }.message)
    assert_match(/say which/, assert_raises(Guildhall::ArgumentError) { Guildhall::Protobuf.new(ProtobufFiles.set) }.message)
    assert_raises(Guildhall::ArgumentError) { Guildhall::Protobuf.new("\xff\xff\xff".b) }
    assert_raises(Guildhall::ArgumentError) { Guildhall::Protobuf.new(String) }
    ["", "xx"].each { |bytes| assert_match(/not a FileDescriptorSet: make one/, assert_raises(Guildhall::ArgumentError) { Guildhall::Protobuf.new(bytes) }.message) }
    empty = ProtobufFiles.set_of(ProtobufFiles.file(name: "empty.proto"))
    assert_match(/say which message; there are none/, assert_raises(Guildhall::ArgumentError) { Guildhall::Protobuf.new(empty) }.message)
  end

  def test_says_why_it_stays_in_the_main_ractor
    assert_match(/google-protobuf/, @codec.inline_reason)
    assert_equal @codec.inline_reason, (@codec >> Guildhall::Pipeline::Map.new(Id)).inline_reason
  end

  module Id
    def self.call(order) = order["id"]
  end

  def test_pools_run_it_in_their_callers_threads
    pool = Guildhall::Pool.new(workers: 1)
    assert_equal [5] * 300, pool.map([@codec.encode(ORDER)] * 300, @codec >> Guildhall::Pipeline::Map.new(Id))
  ensure
    pool&.shutdown
  end
end
