# frozen_string_literal: true

require "test_helper"
require "guildhall/pool"

class PoolChunkReaderTest < GuildhallTest
  ChunkReader = Guildhall::Pool::ChunkReader
  Pair = Struct.new(:one, :other)

  def rest_of(feed)
    chunks = []
    while (chunk = feed.take(wait: true))
      chunks << chunk unless chunk.empty?
    end
    chunks
  ensure
    feed.stop
  end

  def test_what_is_in_memory_is_cut_without_a_thread
    {[1, 2, 3] => [[1, 2], [3]], (1..3) => [[1, 2], [3]], Set[1, 2, 3] => [[1, 2], [3]], {a: 1} => [[[:a, 1]]], Pair.new(1, 2) => [[1, 2]]}
      .each do |payloads, chunks|
        feed = ChunkReader.new(payloads, 2)
        refute_predicate feed, :open?
        assert_equal chunks, rest_of(feed), payloads.inspect
      end
  end

  def test_pairs_of_a_hash_can_cross_ractors
    assert(ChunkReader.array({a: "b"}).all? { |pair| Ractor.shareable?(pair) })
  end

  def test_documents_are_the_hashes_and_arrays_that_they_represent
    assert_equal [[1], 2, 3], ChunkReader.in_memory(Guildhall::JSON.document("[[1],2,3]"))
    map = Guildhall::JSON.document('{"a":{"b":1}}')
    assert_equal [["a", {"b" => 1}]], ChunkReader.in_memory(map)
    assert(ChunkReader.array(map).all? { |pair| Ractor.shareable?(pair) })
    assert_kind_of Guildhall::Document, ChunkReader.array(map).dig(0, 1)
  end

  def test_a_range_without_end_is_read_not_unrolled
    assert_nil ChunkReader.in_memory(1..)
    assert_nil ChunkReader.in_memory("a".."c")
    assert_equal %w[a b c], ChunkReader.array("a".."c")
  end

  def test_what_is_not_enumerable_is_refused_with_what_to_give
    error = assert_raises(Guildhall::ArgumentError) { ChunkReader.new(5, 1) }
    assert_equal "payloads must be an Array or another Enumerable (an IO, an Enumerator), not Integer", error.message
  end

  def test_chunks_of_a_source_come_in_order_and_the_last_one_is_short
    assert_equal (1..7).to_a, rest_of(ChunkReader.new((1..7).each_entry, 3)).flatten
  end

  def test_reads_two_chunks_ahead_at_most
    read = Queue.new
    feed = ChunkReader.new(Enumerator.new { |yielder| (1..100).each { |n| yielder << n.tap { read << n } } }, 5)
    eventually { read.size == 11 } # ten in the buffer, and one that waits for room
    assert_equal [1, 2, 3, 4, 5], feed.take(wait: true)
    eventually { read.size == 16 }
  ensure
    feed&.stop
  end

  def test_a_nil_does_not_wait_for_its_chunk_to_be_full
    gate = Queue.new
    feed = ChunkReader.new(Enumerator.new { |yielder| (yielder << nil) && gate.pop }, 5)
    assert_equal [nil], feed.take(wait: true, timeout: 30)
  ensure
    feed&.stop
  end

  def test_nothing_yet_is_an_empty_chunk
    gate = Queue.new
    feed = ChunkReader.new(Enumerator.new { |yielder| yielder << gate.pop }, 5)
    assert_equal [], feed.take(wait: false)
    assert_equal [], feed.take(wait: true, timeout: 0.01)
    assert_predicate feed, :open?
    gate << :late
    assert_equal [:late], feed.take(wait: true)
    assert_nil feed.take(wait: true)
  ensure
    feed&.stop
  end

  def test_the_sources_error_comes_after_its_payloads
    feed = ChunkReader.new(Enumerator.new { |yielder| yielder << 1 && raise(IOError, "gone") }, 5)
    assert_equal [[1]], rest_of(feed)
    assert_equal [IOError, "gone"], [feed.error.class, feed.error.message]
  end

  def test_a_reading_thread_that_is_killed_is_an_error
    feed = ChunkReader.new(Enumerator.new { |yielder| yielder << 1 && Thread.exit }, 5)
    assert_equal [[1]], rest_of(feed)
    assert_instance_of Guildhall::TaskError, feed.error
  end

  def test_a_reading_thread_that_is_killed_before_it_has_begun_is_an_error
    feed = ChunkReader.new(Enumerator.new { |yielder| loop { yielder << 1 } }, 5)
    Thread.list.each { |thread| thread.kill if thread.name == "guildhall chunk reader" }
    rest_of(feed)
    assert_instance_of Guildhall::TaskError, feed.error
  end

  def test_the_thread_is_not_in_a_child_process
    feed = ChunkReader.new(Enumerator.new { |yielder| loop { yielder << 1 } }, 5)
    memory = ChunkReader.new([1, 2], 5)
    reader, writer = IO.pipe
    child = fork do
      writer.puts(memory.take(wait: true).inspect)
      feed.take(wait: true)
    rescue Guildhall::PoolClosedError => error
      writer.puts(error.message)
    ensure
      exit!(0)
    end
    writer.close
    Process.wait(child)
    assert_equal "[1, 2]\nthis stream belongs to the process before the fork, and is read there\n", reader.read
  ensure
    reader&.close
    feed&.stop
  end

  # A trap handler that forks without a block comes back into what it has interrupted, in both processes.
  def test_a_trap_handler_forks_while_its_thread_waits
    assert_equal "child Guildhall::PoolClosedError\nparent [1]\n", assert_ruby(<<~'RUBY')
      require "guildhall/pool"
      gate = Thread::Queue.new
      feed = Guildhall::Pool::ChunkReader.new(Enumerator.new { |yielder| yielder << gate.pop }, 5)
      reader, writer = IO.pipe
      child = nil
      trap(:USR1) { child = fork }
      main = Thread.current
      Thread.new do
        sleep(0.001) until main.stop?
        Process.kill(:USR1, Process.pid)
        sleep(0.001) until child
        gate << 1
      end
      outcome = begin
        feed.take(wait: true)
      rescue Guildhall::PoolClosedError => error
        error.class
      end
      writer.syswrite("#{child ? "parent" : "child"} #{outcome.inspect}\n")
      exit!(0) unless child
      Process.wait(child)
      writer.close
      puts reader.read.lines.sort
    RUBY
  end

  def test_belongs_to_an_owner_that_it_does_not_keep
    feed = ChunkReader.new(Enumerator.new { |yielder| loop { yielder << 1 } }, 2)
    thread = Thread.list.find { |one| one.name == "guildhall chunk reader" }
    Thread.new { feed.belong_to(Object.new) }.join
    eventually do
      GC.start
      !thread.alive?
    end
  ensure
    feed&.stop
  end
end
