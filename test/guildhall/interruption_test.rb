# frozen_string_literal: true

require "test_helper"

# Decoding and validating that is interrupted: by another thread's exception, by a deadline, by what a callback raises, by
# the end of the process. Nothing is lost of what comes after: memory that a native thread keeps for decoding is sound.
class InterruptionTest < GuildhallTest
  PRELUDE = <<~'RUBY'
    require "timeout"
    require "guildhall/codecs"
    require "guildhall/schema"
    ORDERS = Array.new(1_000) { |id| {"id" => id, "name" => "größer #{id}", "tags" => %w[a b], "price" => 1.5, "more" => {"x#{id % 50}" => id}} }
    ITEM = {type: "record", name: "Order", fields: [{name: "id", type: "long"}, {name: "name", type: "string"}, {name: "tags", type: {type: "array", items: "string"}},
      {name: "price", type: "double"}, {name: "more", type: {type: "map", values: "long"}}]}
    AVRO = Guildhall::Avro.new({type: "array", items: ITEM})
    SCHEMA = Guildhall::Schema.new({"items" => {"required" => ["id"], "properties" => {"name" => {"pattern" => "^gr.*\\d$"}, "tags" => {"uniqueItems" => true}}}}).validator
    TEXT = Guildhall::JSON.encode(ORDERS)
    PACKED = Guildhall::MessagePack.encode(ORDERS)
    BINARY = AVRO.encode(ORDERS)
    WORK = {
      "JSON" => -> { Guildhall::JSON.decode(TEXT) == ORDERS },
      "JSON Document" => -> { Guildhall::JSON.document(TEXT).sum { |order| order["id"] } == 499_500 },
      "JSON encode" => -> { Guildhall::JSON.encode(ORDERS) == TEXT },
      "MessagePack" => -> { Guildhall::MessagePack.decode(PACKED) == ORDERS },
      "MessagePack Document" => -> { Guildhall::MessagePack.document(PACKED).sum { |order| order["id"] } == 499_500 },
      "MessagePack encode" => -> { Guildhall::MessagePack.encode(ORDERS) == PACKED },
      "Avro" => -> { AVRO.decode(BINARY) == ORDERS },
      "Avro Document" => -> { AVRO.document(BINARY).sum { |order| order["id"] } == 499_500 },
      "Avro encode" => -> { AVRO.encode(ORDERS) == BINARY },
      "Schema" => -> { SCHEMA.valid?(Guildhall::JSON.document(TEXT)) && SCHEMA.valid?(ORDERS) }
    }
    def expect(truth, what) = truth || abort("not so: #{what}")
  RUBY

  def test_by_another_threads_exception
    assert_done(<<~'RUBY')
      class Stop < StandardError; end
      random = Random.new(7)
      WORK.each do |name, work|
        5.times do
          turns = 0
          thread = Thread.new do
            Thread.current.report_on_exception = false
            loop { expect(work.call, name) && turns += 1 }
          end
          Thread.pass until turns.positive?
          sleep(random.rand * 0.003)
          thread.raise(Stop)
          expect((begin thread.join; rescue Stop; :stopped end) == :stopped, name)
          expect(work.call, "#{name} afterwards")
        end
      end
    RUBY
  end

  def test_by_a_deadline
    assert_done(<<~'RUBY')
      WORK.each do |name, work|
        ended = begin
          Timeout.timeout(0.02) { loop { expect(work.call, name) } }
        rescue Timeout::Error
          :late
        end
        expect(ended == :late && work.call, name)
      end
    RUBY
  end

  # What users' code raises in the middle of a payload, and what it decodes itself meanwhile.
  def test_by_what_a_callback_raises
    assert_done(<<~'RUBY')
      class Stop < StandardError; end
      class Price
        def self.try_convert(text) = text == "2.5" ? raise(Stop) : Guildhall::JSON.decode("[#{text}]").first
      end
      Money = Struct.new(:cents)
      class Money
        PACK = ->(money) { money.cents == 9 ? raise(Stop) : Guildhall::MessagePack.encode([money.cents]) }
        UNPACK = ->(bytes) { bytes == "\x91\x08".b ? raise(Stop) : Money.new(Guildhall::MessagePack.decode(bytes).first) }
      end
      module Odd
        def self.call(value, _) = value == 7 ? raise(Stop) : Guildhall::JSON.decode("[#{value}]").first.odd?
      end
      json = Guildhall::JSON.new(decimal_class: Price)
      packing = Guildhall::MessagePack.new(types: [Guildhall::MessagePack::ExtensionType.new(1, for: Money, pack: Money::PACK, unpack: Money::UNPACK)])
      odd = Guildhall::Schema.new({"items" => {"odd" => true}}, keywords: {"odd" => Odd}).validator
      good = packing.encode([Money.new(7)] * 50)
      raising = {
        "JSON" => -> { json.decode("[#{"1.5," * 500}2.5]") }, "JSON Document" => -> { json.document("[2.5]").first },
        "encode" => -> { Guildhall::JSON.encode([1, {"a" => Class.new { def to_json(*) = raise(Stop) }.new}]) },
        "MessagePack" => -> { packing.decode(good.sub("\x91\x07".b, "\x91\x08".b)) }, "MessagePack encode" => -> { packing.encode([Money.new(7), Money.new(9)]) },
        "Schema" => -> { odd.valid?([1, 3, 7]) }, "Schema of a Document" => -> { odd.valid?(Guildhall::JSON.document("[1,3,7]")) }
      }
      raising.each do |name, work|
        50.times do
          expect((begin work.call; rescue Stop; :stopped end) == :stopped, name)
          expect(json.decode("[1.5]") == [1.5] && packing.decode(good).size == 50 && odd.valid?([1, 3]), "#{name} afterwards")
        end
      end
      WORK.each { |name, work| expect(work.call, name) }
    RUBY
  end

  # Worker Ractors that decode when the process ends.
  def test_by_the_end_of_the_process
    assert_done(<<~'RUBY')
      Warning[:experimental] = false
      ractors = Array.new(3) do
        Ractor.new(TEXT, PACKED, BINARY, AVRO, SCHEMA) do |text, packed, binary, avro, schema|
          loop do
            Guildhall::JSON.decode(text)
            schema.valid?(Guildhall::JSON.document(text))
            Guildhall::MessagePack.document(packed).first["id"]
            Guildhall::MessagePack.decode(packed)
            avro.decode(binary)
            avro.document(binary).last["name"]
          end
        end
      end
      WORK.each { |name, work| expect(work.call, name) }
      expect(ractors.size == 3, "workers")
    RUBY
  end

  private

  def assert_done(script)
    assert_equal "done\n", assert_ruby("#{PRELUDE}\n#{script}\nputs \"done\"", timeout: 240)
  end
end
