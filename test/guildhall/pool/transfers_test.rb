# frozen_string_literal: true

require "test_helper"
require "bigdecimal"
require "guildhall/msgpack"

# What a worker has made is the same as what its caller would have made, whichever way it crosses: see docs/collectors.md.
class PoolTransfersTest < GuildhallTest
  TEXTS = ['{"id":7,"name":"é","list":[1,-2.5,null,true,[],{}]}', "[]", "{}", "[[[[1]]]]", '"a scalar"', "17", "null", '{"a":1,"a":2}', "", "{", '{"a":tru}',
           "[1e999]", '{"a":"\\u00e9"}', "[#{"9" * 40}]", '{"text":"x"}'.encode("UTF-16LE"), '{"text":"é"}'.encode("ISO-8859-1"), '{"text":"é"}'.b, "\xFF".b].freeze
  CODECS = [Guildhall::JSON, Guildhall::JSON.new(symbolize_names: true), Guildhall::JSON.new(allow_duplicate_key: true, max_nesting: 3), Guildhall::JSON.lazy,
            Guildhall::JSON.new(decimal_class: BigDecimal), Guildhall::JSON.new(allow_nan: true).lazy].freeze
  PACKED = [{"id" => 7, "list" => [1, nil, 2.5, "é"]}, [], 3, "a scalar"].map { Guildhall::MessagePack.encode(it).freeze }.push("\xC1".b, "").freeze

  # Strings of all kinds.
  module Texts
    FROZEN = "a constant"

    # A String that is more than its bytes.
    class Named < String; end

    def self.call(kind)
      case kind
      when :new then "é" * 3
      when :empty then ""
      when :binary then "\xFF\x00".b
      when :broken then "\xFF"
      when :utf16 then "é".encode("UTF-16LE")
      when :constant then FROZEN
      when :part then ("x" * 3000)[1, 2500]
      when :named then Named.new("x")
      when :large then "y" * 3_000_000
      when :variable then "z".dup.tap { it.instance_variable_set(:@mark, "m") }
      when :inside then ["é" * 3, {a: "b" * 50}]
      end
    end
  end
  KINDS = %i[new empty binary broken utf16 constant part named large variable inside].freeze

  # What it was given, and whether that can be changed.
  module Given
    def self.call(payload) = payload
  end

  # A text that says what it is.
  class Word < String; end

  def test_decoded_values
    CODECS.each { |codec| assert_one_meaning(TEXTS, codec) }
    [Guildhall::MessagePack, Guildhall::MessagePack.lazy].each { |codec| assert_one_meaning(PACKED, codec) }
  end

  def test_strings_that_tasks_return
    assert_one_meaning(KINDS, Texts)
  end

  # A few values may be much memory.
  module Repeated
    def self.call(times) = ["x" * 300_000] * times
  end

  def test_a_long_string_that_comes_again_and_again_is_not_written_each_time
    Guildhall::Pool.new(workers: 1).then do |pool|
      found, = pool.map([1_000], Repeated, parallel: true)
      assert_equal [300_000, 1_000], [found.last.size, found.size]
      assert(found.all? { it.equal?(found.first) })
    ensure
      pool.shutdown
    end
  end

  def test_payloads_that_tasks_return
    payloads = ["plain", +"not frozen", "é".encode("UTF-16LE"), "\xFF".b, "", "x" * 10_000, ("x" * 10_000)[1..], Ractor.make_shareable("shared"), :symbol, nil, 3,
                [1, "two"].each(&:freeze).freeze, Word.new("word").freeze]
    assert_one_meaning(payloads, Given)
    refute_predicate payloads[1], :frozen?
  end

  PIPELINES = [Guildhall::JSON.lazy >> Guildhall::Schema.new({"type" => "object", "required" => ["id"]}).validator >> Guildhall.map { |order| order["name"] },
               Guildhall::JSON >> Guildhall.select { |order| order.respond_to?(:merge) } >> Guildhall.map { |order| order.merge("seen" => true) }].freeze

  def test_pipelines
    PIPELINES.each { |pipeline| assert_one_meaning(['{"id":1,"name":"é"}', "{}", "[", "3"], pipeline) }
  end

  def test_an_outcome_is_one_object_whoever_reads_it
    Guildhall::Pool.open(workers: 1) do |pool|
      future = pool.dispatch([TEXTS.first] * 20, Guildhall::JSON, parallel: true)
      read = Array.new(4) { |start| Thread.new { Array.new(20) { |index| future[(start + index) % 20] }.rotate(-start) } }.map(&:value)
      20.times { |index| read.each { |values| assert_same future.value[index], values[index] } }
      assert_same future.value[3], future[3]
    end
  end

  # Results that nobody reads, batches that nobody keeps.
  def test_memory_of_what_is_not_read
    skip("AddressSanitizer keeps what was freed") if Sanitizers.on?
    grown = assert_ruby(<<~'RUBY', timeout: 240)
      require "guildhall"
      Warning[:experimental] = false
      resident = -> { File.read("/proc/self/status")[/VmRSS:\s+(\d+)/, 1].to_i / 1024 }
      texts = Array.new(20) { "[#{(1..3000).to_a.join(",")}]".freeze }
      pool = Guildhall::Pool.new(workers: 2)
      some = lambda do |count|
        count.times do
          futures = [Guildhall::JSON, Guildhall::JSON.lazy].map { |codec| pool.dispatch(texts, codec, parallel: true) }
          futures.each(&:wait)
          futures.first[3]
        end
        resident.call
      end
      before = some.call(150)
      print(some.call(600) - before)
    RUBY
    assert_operator grown.to_i, :<, 100, "MB"
  end

  private

  def assert_one_meaning(payloads, task)
    Guildhall::Pool.open(workers: 1) do |pool|
      there, here = [true, false].map { |parallel| pool.results(payloads, task, parallel:) }
      payloads.each_index { |index| assert_equal description(here[index]), description(there[index]), "#{task.inspect}, #{payloads[index].inspect[0, 80]}" }
      [*there, *here].each { |outcome| assert Ractor.shareable?(outcome), outcome.inspect[0, 80] }
    end
  end

  def description(outcome)
    case outcome
    when Guildhall::Failure then [:failure, outcome.error_class, outcome.message, outcome.index, outcome.stage]
    when String then [outcome.class, outcome.encoding, outcome.b, outcome.frozen?, outcome.instance_variables]
    when Hash, Array then [outcome.class, outcome.frozen?, outcome.to_a.flatten.map { it.is_a?(String) ? description(it) : it }]
    when Guildhall::Document then [outcome.class, outcome.frozen?, description(outcome.decode)]
    else [outcome.class, outcome]
    end
  end
end
