# frozen_string_literal: true

require "test_helper"
require "tempfile"
require_relative "ledger"

# An account that finds nothing proves nothing.
class LedgerTest < GuildhallTest
  def setup
    @journal = Tempfile.create("journal")
    @ledger = Soaking::Ledger.new(@journal.path)
  end

  def teardown
    @ledger.close
    @journal.close
    File.delete(@journal.path)
  end

  def test_what_was_handled_is_settled
    write("s a 0 9", "c a 0 3 4", "h a 0 5", "h a 3 6")
    assert_equal 1, @ledger.waiting
    write("h a 4 7")
    assert_equal [0, [], [5, 6, 7]], [@ledger.waiting, @ledger.errors, @ledger.take_latencies]
    assert_equal [10, 3, 3, 0], @ledger.to_h.values_at("sent", "confirmed", "handled", "doubled")
  end

  def test_what_is_handled_before_it_is_confirmed_does_not_wait
    write("s a 0 9", "h a 4 1", "c a 4")
    assert_equal 0, @ledger.waiting
  end

  def test_what_was_confirmed_and_is_nowhere_is_lost
    write("s a 0 9", "c a 0 3", "f a 4", "h a 3 5")
    @ledger.close
    assert_equal ["1 lost: a@0 (plain)"], @ledger.errors
  end

  def test_poison_belongs_to_the_dead_letters_and_nothing_else_does
    write("s a 0 9", "c a 0 1 2")
    @ledger.dead("a", 0)
    @ledger.dead("a", 1)
    @ledger.dead("a", 1)
    @ledger.close
    assert_equal ["1 wrongly_dead: a@0 (plain)", "1 not_dead: a@2 (plain)"], @ledger.errors
    assert_equal [2, 1], @ledger.to_h.values_at("dead", "dead twice")
  end

  def test_order_by_key
    write("s a 0 9999", "h a 323 1", "h a 3 1", "h a 13 1", "h a 8 1", "h a 328 1", "h a 648 1")
    assert_equal ["1 out_of_order: a@3 (plain) after 323"], @ledger.errors
  end

  def test_what_is_handled_again_is_counted_and_has_no_order
    write("s a 0 999", "h a 0 1", "h a 320 1", "h a 0 1")
    assert_equal [[], 1], [@ledger.errors, @ledger.to_h["doubled"]]
  end

  def test_a_transaction_commits_once
    write("s a 0 9", "c a 6")
    2.times { @ledger.committed("a", 6, 1) }
    assert_equal ["1 committed_twice: a@6 (tx)"], @ledger.errors
  end

  def test_what_nobody_has_sent
    write("s a 0 9", "h a 10 1")
    @ledger.close
    assert_equal ["1 strange: a@10 (plain)"], @ledger.errors
  end

  def test_a_line_is_read_when_it_is_whole
    write("s a 0 9")
    @journal.syswrite("h a 0")
    @ledger.read
    assert_equal 0, @ledger.to_h["handled"]
    @journal.syswrite(" 1\n")
    @ledger.read
    assert_equal 1, @ledger.to_h["handled"]
  end

  private

  def write(*lines)
    lines.each { |line| @journal.syswrite("#{line}\n") }
    @ledger.read
  end
end
