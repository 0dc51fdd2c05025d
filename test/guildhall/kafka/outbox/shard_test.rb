# frozen_string_literal: true

require "test_helper"

# Who sends which keys.
class OutboxShardTest < GuildhallTest
  PROGRAM = File.expand_path("../../../support/outbox_program.rb", __dir__)

  PRELUDE = <<~'RUBY'
    Shard = Outbox::Shard
    def leases(name, seconds = 3600) = Shard::Leases.new(name, seconds:)
    def held = Shard.where.not(lease: nil).order(:id).pluck(:id)
    16.times { |number| Outbox.produce(topic: "orders", key: "key #{number}", payload: "") }
    SHARDS = Message.distinct.pluck(:shard).sort
  RUBY

  def test_no_two_relays_have_the_same
    assert_outbox(<<~'RUBY')
      relays = Array.new(5) { |number| leases("r#{number}") }
      taken = relays.map(&:take)
      equal(taken.flatten.uniq.size, taken.flatten.size)
      equal(SHARDS.size.clamp(0, 20), taken.flatten.size)
      equal(taken.flatten.sort, held)
      relays.each(&:release)
      equal([], held)
    RUBY
  end

  def test_shards_without_rows_are_left_alone
    assert_outbox(<<~'RUBY')
      Message.where.not(shard: SHARDS.first).delete_all
      equal([SHARDS.first], leases("a").take)
      Message.where(shard: SHARDS.first).update_all(parked: true)
      equal([], leases("b").take)
    RUBY
  end

  # Of a relay that was killed. One that renews its leases keeps them.
  def test_a_lease_that_is_not_renewed_is_taken_over
    assert_outbox(<<~'RUBY')
      Message.where.not(shard: SHARDS.first).delete_all
      dead = leases("dead")
      equal([SHARDS.first], dead.take)
      other = leases("other", 0.2)
      equal([], other.take)
      dead.renew
      sleep(0.3)
      equal([], other.take) # it sees another lease than before
      sleep(0.3)
      equal([SHARDS.first], other.take)
      dead.release # has none any more
      equal([SHARDS.first], held)
    RUBY
  end

  # By its own clock, before others may take them over.
  def test_a_relay_knows_that_its_leases_are_not_renewed
    assert_outbox(<<~'RUBY')
      one = leases("one")
      one.take
      late = lambda do |seconds|
        Travel.seconds += seconds
        one.late?
      end
      equal([false, false], [late.call(0), late.call(1200)])
      one.renew
      equal([false, true], [late.call(1500), late.call(1000)])
      one.renew
      equal(false, late.call(0))
      Shard.where(id: held.first).update_all(lease: "other")
      one.renew
      equal(true, late.call(0)) # whatever its clock says: it stands still while the machine is suspended
      one.renew
      equal(true, late.call(0))
      one.release
      equal(false, late.call(0))
    RUBY
  end

  # They would be renewed for as long as the process runs.
  def test_leases_that_the_database_did_not_take_back_are_given_up
    assert_outbox(<<~'RUBY')
      one = leases("one")
      equal(true, one.take.any?)
      rename = ->(from, to) { Message.connection_pool.with_connection { |connection| connection.rename_table(from, to) } }
      rename.call(:guildhall_outbox_shards, :elsewhere)
      raised(ActiveRecord::StatementInvalid) { one.release }
      rename.call(:elsewhere, :guildhall_outbox_shards)
      before = Shard.order(:id).pluck(:lease)
      one.renew
      equal(before, Shard.order(:id).pluck(:lease))
    RUBY
  end

  def test_a_key_is_always_of_the_same_shard
    assert_outbox(<<~'RUBY')
      equal([Shard.of("a")], Array.new(20) { Shard.of("a") }.uniq)
      equal((1..16).to_a, Array.new(2_000) { |number| Shard.of(number.to_s) }.uniq.sort)
      equal(true, Array.new(2_000) { Shard.of(nil) }.uniq.size > 1)
    RUBY
  end

  private

  def assert_outbox(code) = assert_equal("", assert_ruby("load #{PROGRAM.dump}\n#{PRELUDE}\n#{code}", options: ["-W0"]))
end
