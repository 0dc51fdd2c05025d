# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"
require "guildhall/kafka/testing"

class KafkaBrokerDeadLettersTest < GuildhallTest
  HEADERS = {"source_topic" => "orders", "source_partition" => "0", "source_offset" => "1", "source_error_class" => "E"}.freeze

  Replay = Guildhall::Kafka::Broker::Replay
  Discard = Guildhall::Kafka::Broker::Discard

  # @param number [Integer] of dead letters
  # @param headers [Array<Hash>] of each; none: {HEADERS}
  # @yieldparam one, other [Guildhall::Kafka::Broker::DeadLetters] of two people
  def two_people(number, *headers)
    Guildhall::Kafka::Testing::EmbeddedBroker.start do |broker|
      %w[orders dead].each { |name| broker.create_topic(name, partitions: 1) }
      application = Guildhall::Kafka::Application.new
      application.config.kafka = {"bootstrap.servers": broker.bootstrap_servers}
      application.config.logger = nil
      application.producer.produce_many_sync(Array.new(number) { |i| {topic: "dead", payload: i.to_s, headers: headers.fetch(i, HEADERS)} })
      application.dead_letters("dead") do |one|
        application.dead_letters("dead") { |other| yield one, other }
      end
    ensure
      application&.producer&.close
    end
  end

  def of(dead_letters, offsets) = dead_letters.marks([0]).fetch(0).then { |marks| offsets.map { |offset| marks.of(offset) } }

  def test_what_is_discarded_during_a_replay_stays_so_and_is_not_replayed
    two_people(150) do |one, other|
      filter = lambda do |letter|
        assert_equal 1, Discard.new(other).run({0 => 120...121}).sum(&:done) if letter.offset.zero?
        true
      end
      replay = Replay.new(one, except: Guildhall::Kafka::Broker::LetterMarks::MARKS, &filter)
      outcome, = replay.run(one.ranges)
      assert_equal [149, 1], [outcome.done, outcome.skipped]
      assert_equal %i[replayed replayed discarded replayed], of(other, [0, 119, 120, 149])
    end
  end

  def test_two_who_discard_keep_each_others_marks
    two_people(4) do |one, other|
      discard = Discard.new(one) do |letter|
        letter.offset.zero? && other.keep(0) { |marks| [marks.replayed(1...2), marks.discarded(3...4)] }
        true
      end
      found = discard.run({0 => 0...3}).sum(&:done)
      assert_equal [2, %i[discarded replayed discarded discarded]], [found, of(one, 0..3)]
    end
  end

  # As other tools write them: they must not keep those behind them from being replayed.
  def test_what_came_from_nowhere_stays_open_unless_a_topic_is_named
    two_people(3, {}, HEADERS, {}) do |one, _|
      one.keep(0) { |marks| marks.discarded(2...3) }
      [[{}, 1, 1], [{to: "orders"}, 2, 0]].each do |options, done, without_source|
        outcome, = Replay.new(one, except: %i[discarded], **options).dry_run(one.ranges)
        assert_equal [done, 3 - done, without_source], [outcome.done, outcome.skipped, outcome.without_source]
      end
      assert_equal [nil, nil, :discarded], of(one, 0..2)
      outcome, = Replay.new(one, except: %i[discarded]).run(one.ranges)
      assert_equal [1, 2, 1], [outcome.done, outcome.skipped, outcome.without_source]
      assert_equal [nil, :replayed, :discarded], of(one, 0..2)
      outcome, = Replay.new(one, to: "orders", except: %i[discarded replayed]).run(one.ranges)
      assert_equal [1, 2, 0, %i[replayed replayed discarded]], [outcome.done, outcome.skipped, outcome.without_source, of(one, 0..2)]
    end
  end

  def test_what_was_replayed_counts_anew_from_the_beginning_of_the_replay_on
    two_people(3) do |one, _|
      one.keep(0) { |marks| [marks.replayed(0...2), marks.discarded(2...3)] }
      replay = Replay.new(one, except: %i[discarded], again: true) { |letter| letter.offset == 1 }
      assert_equal [1], replay.run(one.ranges).map(&:done)
      assert_equal [nil, :replayed, :discarded], of(one, 0..2)
    end
  end
end
