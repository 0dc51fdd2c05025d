# frozen_string_literal: true

require "test_helper"

# A million interrupts reach threads in the middle of push and pop: no item is lost, none comes twice, and the queue works
# afterwards. The mask lets an interrupt in where a call blocks and nowhere else, so that what is lost is lost by the queue.
class QueueStormTest < GuildhallTest
  SCRIPT = <<~'RUBY'
    require "guildhall/queue"
    require "timeout"
    Warning[:experimental] = false
    Storm = Class.new(Exception)
    interrupts, kind = ARGV[0].to_i, ARGV[1]

    module Shelter
      NOTHING = Object.new.freeze

      # What the block returns, or NOTHING where the interrupt came first.
      def self.call
        result = NOTHING
        begin
          Thread.handle_interrupt(Object => :on_blocking) { result = yield }
        rescue Storm, Timeout::Error
          Thread.current[:hits] += 1
        end
        result
      end

      def self.thread(counts)
        # A thread inherits the mask: nothing reaches it before it is ready.
        Thread.handle_interrupt(Object => :never) do
          Thread.new do
            Thread.current[:hits] = 0
            yield
          ensure
            counts << Thread.current[:hits]
          end
        end
      end
    end

    def storm(interrupts, kind)
      queue = Guildhall::Queue.new(3)
      taken, counts, next_item, done = [], [], 0, false
      consumer = -> { Shelter.thread(counts) { until done; item = Shelter.call { queue.pop(timeout: kind == "timed" ? 0.0001 : nil, default: Shelter::NOTHING) }; taken << item unless Shelter::NOTHING.equal?(item) || item.nil?; end } }
      producer = -> { Shelter.thread(counts) { until done; number = (next_item += 1); nil until done || (Shelter.call { queue.push(number) } != Shelter::NOTHING); (Thread.current[:left] = number) if done; end } }
      threads = Array.new(3) { consumer.call } + Array.new(2) { producer.call }
      sent = 0
      while sent < interrupts
        threads.each_with_index do |thread, index|
          next if thread.pending_interrupt?
          next threads[index] = consumer.call if kind == "kill" && index < 3 && !thread.alive?

          if kind == "kill" && index < 3
            thread.kill
          else
            thread.raise(Storm)
          end
          sent += 1
        end
        Thread.pass
      end
      done = true
      finish = Thread.new { queue.drain.each { |item| taken << item } while threads.any?(&:alive?) && (sleep(0.001) || true) }
      until threads.none?(&:alive?)
        threads.each { |thread| thread.raise(Storm) if thread.alive? && !thread.pending_interrupt? }
        sleep(0.001)
      end
      finish.join
      taken.concat(queue.drain)
      abort("twice: #{taken.size - taken.uniq.size}") unless taken.uniq.size == taken.size
      # The last number of each producer may not have been pushed when it was stopped.
      missing = (1..next_item).to_a - taken
      unsure = threads.last(2).map { |thread| thread[:left] }
      abort("lost: #{missing - unsure}") unless (missing - unsure).empty?
      abort("not usable") unless queue.num_waiting.zero? && queue.push(:usable).pop == :usable
      $stderr.puts "#{interrupts} #{kind}: #{counts.sum} raised in waits, #{taken.size} items" if $VERBOSE
      "#{sent >= interrupts} #{taken.any?}"
    end

    if ARGV[2] == "ractor"
      ractor = Ractor.new(interrupts, kind) { |count, how| storm(count, how) }
      puts(ractor.respond_to?(:value) ? ractor.value : ractor.take)
    else
      puts storm(interrupts, kind)
    end
  RUBY

  def test_a_million_exceptions = assert_storm(1_000_000, "raise")

  def test_exceptions_in_waits_with_a_time_out = assert_storm(100_000, "timed")

  def test_kills = assert_storm(50_000, "kill")

  # On 3.4 a Ractor whose threads are interrupted stalls without any extension.
  def test_exceptions_in_a_ractor_that_is_not_pinned
    skip "one waiting thread a Ractor on Ruby 3.4" if RUBY_VERSION < "4.0"
    assert_storm(50_000, "raise", "ractor", env: {"RUBY_MAX_CPU" => "2"})
  end

  private

  def assert_storm(count, *, env: {})
    assert_equal "true true\n", assert_ruby(SCRIPT, count.to_s, *, timeout: 300, env:)
  end
end
