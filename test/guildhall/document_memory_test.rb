# frozen_string_literal: true

require "guildhall/json"
require_relative "../support/document_churn"

# Blocks of memory of Documents that are gone are used again, and no more of them are kept than is said.
class DocumentMemoryTest < GuildhallTest
  def test_what_is_used_again_was_free
    assert DocumentChurn.unharmed?(300, 1)
  end

  def test_ractors_use_each_others_blocks
    out = assert_ruby(<<~RUBY, options: ["-W:no-experimental"])
      require "#{__dir__}/../support/document_churn"
      ractors = Array.new(4) { |seed| Ractor.new(seed) { |it| DocumentChurn.unharmed?(150, it) } }
      print ractors.map { |ractor| ractor.respond_to?(:value) ? ractor.value : ractor.take }
    RUBY
    assert_equal "[true, true, true, true]", out
  end

  def test_a_child_process_goes_on
    reader, writer = IO.pipe
    child = fork do
      writer.write(DocumentChurn.unharmed?(30, 2).to_s)
      exit!
    end
    writer.close
    assert_equal "true", reader.read
  ensure
    Process.wait(child)
    reader.close
  end

  # Ruby gives the end of a String contents of its own when it likes, and frees what it was the end of.
  def test_the_end_of_a_string_may_move
    assert_equal "600 of 600", assert_ruby(<<~'RUBY', options: %w[-W:no-experimental])
      require "guildhall"
      MOVES = [:-@.to_proc, Ractor.method(:make_shareable)]
      def self.ends = Array.new(100) { (" " * 100 + %({"number":#{@number += 1},"text":"#{"x" * 2_000}"}))[100..].freeze }
      def self.documents(texts) = texts.map { Guildhall::JSON.document(it) }
      def self.dispatched(texts) = Guildhall::Pool.open(workers: 1) { |pool| pool.dispatch(texts, Guildhall::JSON.lazy, parallel: true).value }
      @number = 0
      made = [:documents, :dispatched].flat_map do |way|
        MOVES.flat_map { |move| ends.then { |texts| send(way, texts).tap { texts.each(&move) } } } + send(way, ends).each { Ractor.make_shareable(it) }
      end
      5.times do
        GC.start
        4_000.times { "y" * rand(2_000..2_200) }
      end
      print "#{made.count { it["text"] == "x" * 2_000 }} of #{made.size}"
    RUBY
  end

  def test_memory_goes_back_beyond_a_bound
    skip "AddressSanitizer keeps what is freed for a while" unless ENV.fetch("GUILDHALL_SANITIZE", "").empty?
    grown = assert_ruby(<<~RUBY).to_i
      require "guildhall/json"
      memory = -> { File.read("/proc/self/statm").split[1].to_i * 4096 }
      text = "[\#{(["1"] * 200_000).join(",")}]"
      Guildhall::JSON.document(text)
      before = memory.call
      Array.new(150) { Guildhall::JSON.document(text) }.clear
      GC.start
      print memory.call - before
    RUBY
    assert_operator grown, :<, 140_000_000, "240 MB were taken"
  end

  # So long that malloc gives it back to the system.
  def test_an_invalid_payload_leaves_its_memory_to_nobody
    skip "AddressSanitizer keeps what is freed for a while" unless ENV.fetch("GUILDHALL_SANITIZE", "").empty?
    kept = assert_ruby(<<~RUBY).split.map(&:to_i)
      require "guildhall/json"
      memory = -> { GC.start || File.read("/proc/self/statm").split[1].to_i * 4096 }
      text = "[\#{"1," * 10_000_000}x"
      %i[decode document].each do |way|
        Guildhall::JSON.public_send(way, "[1, [2]]")
        before = memory.call
        begin
          Guildhall::JSON.public_send(way, text)
        rescue Guildhall::JSON::ParseError
          puts memory.call - before
        end
      end
    RUBY
    assert_equal 2, kept.size
    kept.each { |bytes| assert_operator bytes, :<, 50_000_000, "of 80 MB, for 20 MB of text" }
  end

  # Ruby frees the last collection's garbage while there is new garbage already: the one does not make up for the other.
  def test_what_is_freed_late_does_not_put_off_the_next_collection
    allocated, reported = assert_ruby(<<~RUBY).split.map(&:to_i)
      require "guildhall/json"
      require "objspace"
      text = %({"items":[\#{(["12345"] * 800).join(",")}]}).freeze
      churn = -> { 1_000.times { Guildhall::JSON.document(text) } }
      2.times { churn.call }
      GC.start(immediate_sweep: false)
      churn.call
      ObjectSpace.each_object(Class) { break } # sweeps all
      reported = GC.stat(:malloc_increase_bytes)
      print 1_000 * ObjectSpace.memsize_of(Guildhall::JSON.document(text)), " ", reported
    RUBY
    assert_in_delta allocated, reported, allocated / 5
  end

  # However much was freed before: with a collector for each Ractor, what is reported as freed puts off the next collection.
  def test_collections_keep_coming
    bytes, collections = assert_ruby(<<~RUBY, timeout: 120).split.map(&:to_i)
      require "guildhall/json"
      require "objspace"
      text = "[\#{(1..3_000).to_a.join(",")}]".freeze
      churn = -> { 10_000.times { Guildhall::JSON.document(text) } }
      4.times { churn.call }
      before = GC.count
      churn.call
      print 10_000 * ObjectSpace.memsize_of(Guildhall::JSON.document(text)), " ", GC.count - before
    RUBY
    assert_operator collections, :>=, bytes / 50_000_000, "for #{bytes} bytes, of which Ruby lets 32 MiB grow"
  end
end
