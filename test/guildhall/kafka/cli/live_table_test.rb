# frozen_string_literal: true

require "test_helper"
require "stringio"
require "guildhall/kafka/cli"

class KafkaLiveTableTest < GuildhallTest
  # A terminal that remembers what was written since it was last asked.
  class Terminal < StringIO
    attr_accessor :winsize

    def written = string.dup.tap { truncate(0) && rewind }
  end

  def test_lines_are_drawn_in_the_same_place
    terminal = Terminal.new
    terminal.winsize = [5, 20]
    Guildhall::Kafka::CLI::LiveTable.open(terminal) do |table|
      table.draw(%w[a b])
      assert_equal "\e[?25l\e[?7l\e[Ja\nb\n\e[?7h", terminal.written
      table.draw(%w[c])
      assert_equal "\e[?7l\e[2A\r\e[Jc\n\e[?7h", terminal.written
      table.draw(["x" * 30, "1", "2", "3", "4", "5"])
      assert_equal "\e[?7l\e[1A\r\e[J#{"x" * 19}…\n1\n2\n… 3 more\n\e[?7h", terminal.written
      refute_predicate table, :resized?
      terminal.winsize = [24, 80]
      assert_predicate table, :resized?
      table.draw(%w[a])
      assert_equal "\e[?7l\e[2J\e[H\e[Ja\n\e[?7h", terminal.written
    end
    assert_equal "\r\e[K\e[?25h", terminal.written
  end

  def test_a_terminal_without_room_for_the_columns_that_stay
    rows = [%w[TOPIC LAG ERROR], ["orders.of.the.whole.world", 7, "KeyError"]]
    assert_equal ["TOPIC         LAG", "orders…world  7"], Guildhall::Kafka::CLI::LiveTable.narrow(rows, 17, ["ERROR"])
    assert_equal ["TOPIC                      LAG", "orders.of.the.whole.world  7"], Guildhall::Kafka::CLI::LiveTable.narrow(rows, 30, ["ERROR"])
  end

  def test_a_terminal_that_does_not_know_its_size
    terminal = Terminal.new
    terminal.winsize = [0, 0]
    assert_equal [24, 80], Guildhall::Kafka::CLI::LiveTable.new(terminal).size
  end

  def test_the_terminal_is_as_it_was_after_an_interrupt
    terminal = Terminal.new
    terminal.winsize = [5, 20]
    assert_raises(Interrupt) { Guildhall::Kafka::CLI::LiveTable.open(terminal) { raise Interrupt } }
    assert_equal "\e[?25l\r\e[K\e[?25h", terminal.written
  end
end
