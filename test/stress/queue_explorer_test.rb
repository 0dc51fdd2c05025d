# frozen_string_literal: true

require "test_helper"
require "support/c_program"

# Every order in which a few threads may go through the queue and its waitlists, with at most so many preemptions and
# stores held back (explorer/explorer.h); and that this finds what is missing when a part of the protocol is taken out.
class QueueExplorerTest < GuildhallTest
  include CProgram

  FOLDER = File.join(__dir__, "explorer")
  SOURCES = %w[explorer.c scenarios.c].map { |name| File.join(FOLDER, name) }.freeze
  FLAGS = ["-include", File.join(FOLDER, "atomics.h"), "-I#{FOLDER}"].freeze

  def test_every_order_is_right
    with_program(SOURCES, flags: FLAGS) do |program|
      out, err, status = run_command([program, "2"], timeout: 300)
      assert_predicate status, :success?, out + err
      assert_equal 8, out.scan(": right").size, out
      assert_operator out.scan(/(\d+) orders/).sum { |(number)| number.to_i }, :>, 1_000_000
    end
  end

  LOST = "a wake-up was lost"

  def test_without_the_second_attempt
    assert_found LOST, "waiting/waitlist.c" => {"    if (attempt(context)) {\n" => "    if (0) {\n"}
  end

  # A producer stalls between claiming a cell and publishing it; the next one's wake-up is spent on nothing.
  def test_without_the_chain_of_wakes
    assert_found LOST, "queue/channel.c" => {"if (guildhall_waitlist_count(&channel->takers) &&" => "if (0 &&"}
  end

  def test_without_the_producers_fence
    fence = "    atomic_thread_fence(memory_order_seq_cst);\n    waitlist_wake_first(list);"
    assert_found LOST, "waiting/waitlist.c" => {fence => "    waitlist_wake_first(list);"}
  end

  def test_without_passing_on_the_wake_of_an_interrupted_waiter
    assert_found LOST, "waiting/waitlist.c" => {"    if (claimed) guildhall_waitlist_wake_one(list);\n" => ""}
  end

  def test_without_waking_for_room
    assert_found LOST, "queue/channel.c" => {"    guildhall_waitlist_wake_one(&channel->stripes[stripe].givers);\n" => "    atomic_thread_fence(memory_order_seq_cst);\n"}
  end

  def test_without_waking_for_the_end
    assert_found LOST, "queue/channel.c" => {
      " || guildhall_channel_closed(channel)" => "",
      "exhausted(guildhall_channel *channel) { guildhall_waitlist_wake_one(&channel->takers); }" => "exhausted(guildhall_channel *channel) {}"
    }
  end

  def test_closing_that_does_not_stop_pushes_under_way
    assert_found(/lost|sleeps/, "queue/ring.c" => {"(position | CLOSED)" => "(atomic_load_explicit(&ring->tail, memory_order_relaxed))"})
  end

  def test_a_cell_given_back_before_it_is_read
    assert_found(/lost|twice/, "queue/ring.c" => {
      "    uintptr_t item = atomic_load_explicit(&at.cell->item, memory_order_relaxed);\n" => "",
      "    return item;\n" => "    return atomic_load_explicit(&at.cell->item, memory_order_relaxed);\n"
    })
  end

  private

  def assert_found(message, changes)
    with_program(SOURCES, flags: FLAGS, changes:) do |program|
      out, err, status = run_command([program, "2"], timeout: 300)
      refute_predicate status, :success?, "nothing was found\n#{out}"
      assert_match message, out, err
    end
  end
end
