# frozen_string_literal: true

require "test_helper"

# What crosses Ractors outlives the collections of both sides, whichever collector Ruby has: see docs/collectors.md. Each in a program of its own,
# because what would go wrong ends the process.
class CollectorsTest < GuildhallTest
  PRELUDE = <<~'RUBY'
    require "guildhall"
    Warning[:experimental] = false
    ROUNDS = 40
    TEXT = '{"id":7,"name":"a name that is too long for a slot of Ruby: .......................","ratio":1.0e-300,"big":123456789012345678901234567890,' \
           '"list":[{"a":"x"},{"a":"é"},[],{}],"more":["one","two",null,true,0.5]}'
    VALUE = Guildhall::JSON.decode(TEXT)

    # Garbage of each kind, so that freed slots are used again.
    def self.litter = 200.times { [it.to_s * 20, {it.to_s => [it]}, "y" * 300] }

    def self.collect
      litter
      GC.start(full_mark: false)
      litter
    end

    def self.right!(what, values)
      wrong = values.count { |value| !yield(value) }
      abort("#{what}: #{wrong} of #{values.size} are wrong") unless wrong.zero?
    end

    def self.done
      GC.start
      GC.verify_internal_consistency
      print("done")
    end
  RUBY

  def test_items_of_a_queue
    assert_program <<~'RUBY'
      there, back = Guildhall::Queue.new(64), Guildhall::Queue.new(64)
      ractor = Ractor.new(there, back) do |input, output|
        while (item = input.pop)
          50.times { [it.to_s * 20, {it.to_s => [it]}] }
          output.push(item.is_a?(String) ? Guildhall::JSON.decode(item) : [item["id"], item["list"][0]].freeze)
          GC.start(full_mark: false) if rand(8) == 0
        end
        :ended
      end
      kept = []
      ROUNDS.times do |round|
        8.times { there.push(TEXT.dup.freeze) }
        8.times { there.push(Guildhall::JSON.document(TEXT)) }
        collect
        16.times { kept << back.pop }
        kept.shift(kept.size / 2) if round % 5 == 0
      end
      there.push(nil)
      abort "ended" unless (ractor.respond_to?(:value) ? ractor.value : ractor.take) == :ended
      right!("items", kept) { |value| value.is_a?(Hash) ? value == VALUE : value[0] == 7 && value[1].to_h == {"a" => "x"} }
      done
    RUBY
  end

  def test_results_of_a_pool_that_are_kept
    assert_program <<~'RUBY'
      module Builds
        def self.call(text) = [Guildhall::JSON.decode(text), text * 2, Guildhall::JSON.document(text)]
      end
      Guildhall::Pool.open(workers: 2) do |pool|
        kept = []
        ROUNDS.times do |round|
          payloads = Array.new(16) { TEXT.dup }
          futures = [Guildhall::JSON, Guildhall::JSON.lazy, Builds].map { |one| pool.dispatch(payloads, one, parallel: true) }
          collect
          kept << futures.map(&:value)
          kept.shift(kept.size / 2) if round % 5 == 0
        end
        right!("results", kept) do |hashes, documents, built|
          hashes.all? { it == VALUE } && documents.all? { it.to_h == VALUE } &&
            built.all? { |hash, text, document| hash == VALUE && text == TEXT * 2 && document.to_h == VALUE }
        end
      end
      done
    RUBY
  end

  def test_what_a_batch_of_callers_and_workers_is_made_of
    assert_program <<~'RUBY'
      module Texts
        def self.call(number) = Array.new(20) { "#{number} #{it}" }
      end
      Guildhall::Pool.open(workers: 2) do |pool|
        kept = []
        ROUNDS.times do |round|
          kept << pool.map((1..400).to_a, Texts) # begun by the caller, spread over workers, and finished by all
          futures = Array.new(4) { |source| pool.dispatch([round, source], Texts, source: "source #{source}") }
          collect
          right!("futures", futures) { |future| future.value.map(&:size) == [20, 20] }
          kept.shift if kept.size > 10
        end
        right!("values", kept) { |values| values.each_with_index.all? { |value, index| value == Array.new(20) { "#{index + 1} #{it}" } } }
      end
      done
    RUBY
  end

  def test_workers_that_come_and_go
    assert_program <<~'RUBY'
      module Mortal
        def self.call(number) = number % 7 == 0 ? Thread.exit : Guildhall::JSON.decode(%({"number":#{number},"text":"#{"z" * 60}"}))
      end
      kept = []
      8.times do |round|
        Guildhall::Pool.open(workers: 2) do |pool|
          outcomes = pool.dispatch((1..40).to_a, Mortal, parallel: true).results
          kept << outcomes.grep_v(Guildhall::Failure)
          collect
        end
        GC.start
      end
      right!("values", kept) { |values| values.size == 35 && values.all? { |value| value["text"] == "z" * 60 && value["number"] % 7 != 0 } }
      done
    RUBY
  end

  def test_what_no_worker_has_begun_goes_with_its_pool
    assert_program <<~'RUBY'
      module Slow
        def self.call(number) = sleep(0.01) && number
      end
      BATCHES = ObjectSpace::WeakMap.new
      def self.leave_work(depth)
        return leave_work(depth - 1) if depth > 0

        pool = Guildhall::Pool.new(workers: 1)
        5.times { BATCHES[pool.dispatch((1..50).to_a, Slow, parallel: true).instance_variable_get(:@batch)] = true }
        abort "unfinished" unless pool.shutdown(timeout: 0.05).unfinished > 100
      end
      Thread.new { 8.times { leave_work(30) } }.join
      5.times { collect }
      GC.start
      abort "#{BATCHES.size} of 40 are kept" if BATCHES.size > 10
      done
    RUBY
  end

  def test_what_a_worker_that_was_given_up_has_died_of_goes_with_its_pool
    assert_program <<~'RUBY'
      require "guildhall/clock"
      module Stuck
        def self.call(number) = number == 1 ? sleep(0.3) && Thread.exit : number
      end
      BATCHES = ObjectSpace::WeakMap.new
      def self.give_up(depth)
        return give_up(depth - 1) if depth > 0

        pool = Guildhall::Pool.new(workers: 1, deadline: 0.05)
        future = pool.dispatch([1, 2, 3], Stuck, parallel: true, slice: 3)
        BATCHES[future.instance_variable_get(:@batch)] = true
        abort "not given up" unless future.results.first.error_class == "Guildhall::StuckError"
        slots = ObjectSpace.each_object(Guildhall::Pool::WorkerSlot)
        limit = Guildhall::Clock.now + 20
        sleep(0.01) while slots.any? { |slot| slot.busy? && !slot.exited? } && Guildhall::Clock.now < limit
        pool.shutdown
      end
      Thread.new { 8.times { give_up(30) } }.join
      5.times { collect }
      GC.start
      abort "#{BATCHES.size} of 8 are kept" if BATCHES.size > 3
      done
    RUBY
  end

  # No Ruby code runs, and no other thread, while one reads what a worker has left.
  def test_keys_with_code_of_their_own
    assert_program <<~'RUBY'
      Key = Data.define(:number) do
        def hash
          Thread.pass
          number.hash
        end
      end
      KEY = Ractor.make_shareable(Key.new(number: 1))
      module Keyed
        def self.call(number) = {KEY => [number], [KEY] => number, "text" => {1.5 => :symbol, nil => "x" * 80}}
      end
      EXPECTED = (1..20).map { Keyed.call(it) }
      Guildhall::Pool.open(workers: 2) do |pool|
        20.times do
          future = pool.dispatch((1..20).to_a, Keyed, parallel: true)
          future.wait
          right!("readers", Array.new(4) { Thread.new { future.results } }) { |reader| reader.value == EXPECTED }
        end
      end
      done
    RUBY
  end

  # Ruby frees what it collects together in any order, also at its end. What is freed is overwritten.
  def test_outcomes_that_nobody_reads_are_freed_after_their_codec
    assert_program <<~'RUBY', env: {"MALLOC_PERTURB_" => "165"}
      def self.unread
        pool = Guildhall::Pool.new(workers: 1)
        codecs = Array.new(20) { Guildhall::JSON.new(max_bytes: 1_000 + it) }
        futures = (codecs + codecs.map(&:lazy)).map { |codec| pool.dispatch([TEXT] * 3, codec, parallel: true) }
        pool.shutdown
        right!("batches", futures, &:ready?)
        codecs + futures
      end
      @at_the_end = unread
      Thread.new { unread.clear }.join
      3.times { collect }
      done
    RUBY
  end

  def test_schemas_and_codecs_that_several_ractors_use
    assert_program <<~'RUBY'
      require "guildhall/avro"
      schema = '{"type":"record","name":"r","fields":[{"name":"id","type":"long"},{"name":"text","type":"string"},{"name":"tags","type":{"type":"array","items":"string"}}]}'
      codec = Guildhall::Avro.new(schema)
      record = {"id" => 5, "text" => "t" * 70, "tags" => %w[a b c]}
      bytes = codec.encode(record)
      ractors = Array.new(3) do
        Ractor.new(codec, bytes) do |avro, payload|
          Array.new(60) do
            GC.start(full_mark: false) if it % 9 == 0
            [avro.decode(payload), avro.document(payload), Guildhall::JSON.new(symbolize_names: true).decode('{"key":["value"]}')]
          end.freeze
        end
      end
      20.times { collect }
      results = ractors.flat_map { |ractor| ractor.respond_to?(:value) ? ractor.value : ractor.take }
      collect
      right!("values", results) { |hash, document, json| hash == record && document.to_h == record && json == {key: ["value"]} }
      done
    RUBY
  end

  private

  def assert_program(source, **)
    assert_equal "done", assert_ruby(PRELUDE + source, timeout: 180, **)
  end
end
