# frozen_string_literal: true

require "zlib"
require "guildhall/clock"

module Guildhall
  module Kafka
    module Outbox
      # A share of the keys, which one relay at a time sends: who has the row's `lease`.
      class Shard < Record
        self.table_name = "guildhall_outbox_shards"

        # @api private
        COLUMNS = %w[id lease].freeze
        COUNT = 16 # numbered from 1: MySQL takes 0 for "the next number"

        # @param key [String, nil] nil: messages without order
        # @return [Integer]
        def self.of(key) = 1 + (key ? Zlib.crc32(key) % COUNT : Random.rand(COUNT))

        # Rows that a schema which was loaded does not have.
        def self.prepare = insert_all((1..COUNT).map { |id| {id:} })

        # @return [Array<Array(Integer, String)>] of those with rows that wait: number and lease
        def self.waiting
          rows = Message.waiting.where(Message.arel_table[:shard].eq(arel_table[:id]))
          where(rows.arel.exists).pluck(:id, :lease)
        end

        # The leases of one relay. A lease is a name that is never used twice: it is renewed by another one, and who sees the same one for
        # {SECONDS} takes it over. So no two machines need the same time. A relay gives up what it has not sent before others may do that:
        # what it sent later would arrive behind newer rows. Any thread may ask {#late?}, one uses the rest.
        class Leases
          SECONDS = 15
          RENEW_SECONDS = 5
          KEPT = 2 / 3.0 # of the seconds: the rest is for what is on its way then
          AT_ONCE = 4 # so that other processes find shards, too
          LOST = -Float::INFINITY # others have taken some over
          private_constant :KEPT, :LOST

          # @param owner [String] no other process has the same
          def initialize(owner, seconds: SECONDS)
            @owner = owner
            @seconds = seconds
            @renewals = @taken = 0
            @seen = {}
            @lease = @renewed_at = nil
          end

          # @return [Array<Integer>] shards with rows that wait, which nobody else sends now
          def take
            free = Shard.waiting.select { |shard, lease| free?(shard, lease) }.shuffle
            @renewed_at = Clock.now # nobody has seen them before
            @lease = another if free.any?
            taken = free.lazy.select { |id, lease| Shard.where(id:, lease:).update_all(lease: @lease) == 1 }.first(AT_ONCE)
            @taken = taken.size
            taken.map(&:first)
          end

          def renew
            return unless @lease

            lease = another
            now = Clock.now
            all = Shard.where(lease: @lease).update_all(lease:) == @taken
            @renewed_at = all ? now : LOST # the clock says nothing of the time for which the machine was suspended
            @lease = lease
          end

          # @return [Boolean] whether others may soon take its leases over, or have done so
          def late? = !@lease.nil? && Clock.now - @renewed_at > @seconds * KEPT

          # Where the database refuses that, they are not renewed any more.
          def release
            lease = @lease
            @lease = nil
            Shard.where(lease:).update_all(lease: nil) if lease
          end

          private

          def another = "#{@owner}/#{@renewals += 1}"

          def free?(shard, lease)
            return true unless lease

            seen, since = @seen[shard]
            @seen[shard] = [lease, Clock.now] unless seen == lease
            seen == lease && Clock.now - since >= @seconds
          end
        end
      end
    end
  end
end
