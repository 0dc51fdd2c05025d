# frozen_string_literal: true

require "guildhall/clock"
require "guildhall/printable"
require_relative "../logging"
require_relative "../reporting/wording"

module Guildhall
  module Kafka
    class Partition
      # What one partition does at one moment, and why: for reports, `/state`, `inspect` and tests. Frozen; refers to nothing that
      # changes, and to no message. Times are seconds, before or after that moment.
      #
      # @!attribute [r] state
      #   @return [Symbol] one word, what matters most: see {Reporting::Wording::STATES}
      # @!attribute [r] rests
      #   @return [Hash{Symbol=>Rest}] by their reasons, those of {Inbox}
      # @!attribute [r] attempt
      #   @return [Integer] of the next call of `consume` with the first message that is not done, from 1
      # @!attribute [r] error
      #   @return [Failed, nil] the last one of a call of `consume`
      # @!attribute [r] isolating
      #   @return [Array(Integer, Integer | nil), nil] the offsets between which the message that fails is looked for
      # @!attribute [r] blocked
      #   @return [String, nil] why what it sends to another topic does not arrive
      # @!attribute [r] denied
      #   @return [String, nil] why the broker does not let it be read
      # @!attribute [r] stalled
      #   @return [Stalled, nil] see {Runtime::Watchdog}
      # @!attribute [r] parked
      #   @return [Parked, nil] with `ordering :key`
      # @!attribute [r] transaction
      #   @return [Transaction, nil] with `transactional`
      # @!attribute [r] position
      #   @return [Integer, nil] the first offset that is not done; nil: nothing was begun yet
      # @!attribute [r] committed
      #   @return [Integer, nil] the first offset that is not to be committed as done; nil: nothing was begun yet
      # @!attribute [r] ranges
      #   @return [Array<Range<Integer>>] what is done behind `committed`
      # @!attribute [r] end_offset
      #   @return [Integer, nil] the offset that the next message will get; nil: not known, as while its broker does not answer
      # @!attribute [r] lag
      #   @return [Integer, nil] messages that are not done; nil: not known
      # @!attribute [r] age
      #   @return [Float, nil] seconds: the age of the oldest message that is not done, or more than that; nil: not known
      # @!attribute [r] in_memory
      #   @return [Integer] messages that were read and wait, or are in work, without those of parked keys
      # @!attribute [r] without_progress
      #   @return [Float, nil] since its work has marked nothing and returned from nothing; nil: it has no work
      # @!attribute [r] overdue
      #   @return [Boolean] whether that is longer than `config.max_consume_time`
      # @!attribute [r] working_at
      #   @return [String, nil] where in the application's code its work is, once it has made no progress for {BUSY_SECONDS}; nil: not known
      # @!attribute [r] collapsed
      #   @return [Boolean] whether its virtual partitions are consumed as one, because a message has failed
      # @!attribute [r] assigned
      #   @return [Float] since when it is assigned
      # @!attribute [r] member
      #   @return [Integer] to which member of the process, from 1
      # @!attribute [r] decoded_by
      #   @return [Symbol, nil] {Decoding#place}
      # @!attribute [r] not_on_workers
      #   @return [String, nil] {Decoding#reason}
      Snapshot = Data.define(:group, :topic, :partition, :state, :rests, :attempt, :error, :isolating, :blocked, :denied, :stalled, :parked,
        :transaction, :position, :committed, :ranges, :end_offset, :lag, :age, :in_memory, :without_progress, :overdue, :working_at,
        :collapsed, :assigned, :member, :decoded_by, :not_on_workers)

      # A reason to rest: for how long by now, and for how much longer; nil: until something happens.
      Snapshot::Rest = Data.define(:since, :left)
      # As {Attempts::LastError}; since, last: how long ago the first in a row was, and this one; now: whether it is one of the first
      # message that is not done, false: that is done by now, or gone to the dead letters.
      Snapshot::Failed = Data.define(:error_class, :message, :place, :kind, :failures, :offset, :since, :last, :now)
      # The position, for how long, and what was tried, of :seek and :rejoin.
      Snapshot::Stalled = Data.define(:position, :since, :tried)
      # All parked keys, and all their messages, and whether no more may be parked; oldest: those that have waited for longest, with the
      # name of each (nil: none), the offset and the age of its first message, how many wait, and attempt, next try in seconds and error.
      Snapshot::Parked = Data.define(:keys, :messages, :full, :oldest)
      Snapshot::Key = Data.define(:key, :offset, :messages, :age, :attempt, :left, :error)
      # open: for how long one is open, nil: none is; how many were committed, and aborted.
      Snapshot::Transaction = Data.define(:open, :committed, :aborted)

      # (reopened: methods of a block would not see the constants)
      class Snapshot
        # @api private
        MAX_KEYS = 10 # that are named
        # @api private
        MAX_RANGES = 10 # in {#data}
        # @api private
        MAX_KEY_CHARACTERS = 60
        # @api private
        BUSY_SECONDS = Reporting::Wording::BUSY_SECONDS # a runner's frames cost something to be asked for
        # Reasons to rest, what matters most first => state.
        RESTS = {backoff: :backoff, keys: :keys, user: :paused, command: :paused, filter: :filter, quiet: :quiet}.freeze
        # Of what waits for nothing but the brokers' confirmation, there is nothing to say.
        SENDING = %i[dead_letters forwarding].freeze
        private_constant :RESTS, :SENDING

        # For {Partition#snapshot}, from what its parts have of themselves.
        def self.of(partition:, inbox:, progress:, attempts:, keys:, transactions:, lag:, member:, assigned_at:)
          now = Clock.now
          end_offset, lag, age = lag
          stall = partition.stall
          blocked = partition.blocked&.to_s
          stalled = stall && Stalled.new(position: stall.position, since: now - stall.since, tried: stall.tried)
          transaction = transactions && Transaction.new(transactions[0] && (now - transactions[0]), *transactions.drop(1))
          without_progress = partition.seconds_without_progress
          denied = partition.denied&.then { |error| error.message.dup }
          snapshot = new(group: partition.topic.group, topic: partition.name, partition: partition.number,
            state: state_of(inbox, blocked, denied, stall), rests: rests(inbox.rests, now), attempt: attempts.number,
            error: failed(attempts, now), isolating: attempts.isolating, blocked:, denied:, stalled:, parked: parked(keys, now),
            transaction:, position: progress.position, committed: progress.committed, ranges: progress.ranges,
            end_offset:, lag:, age:, in_memory: inbox.messages, without_progress:,
            overdue: partition.overdue?(without_progress), working_at: working_at(inbox.thread, without_progress),
            collapsed: partition.collapsed?, assigned: now - assigned_at, member:,
            decoded_by: partition.decoding.place, not_on_workers: partition.decoding.reason.dup)
          Ractor.make_shareable(snapshot)
        end

        # By what has to end first before anything else helps.
        def self.state_of(inbox, blocked, denied, stall)
          return inbox.state unless inbox.state == :assigned
          return :denied if denied
          return :stalled if stall
          return :blocked if blocked

          rested = RESTS.find { |reason, _| inbox.rests.key?(reason) }
          return rested.last if rested
          return :sending if SENDING.any? { |reason| inbox.rests.key?(reason) }

          return :working if inbox.working

          inbox.busy_since ? :queued : :waiting
        end

        def self.working_at(thread, seconds)
          return unless thread && seconds.to_f >= BUSY_SECONDS

          Logging::ApplicationFrame.of_thread(thread)&.then { |frame| Reporting::Wording.line(frame) }
        end

        def self.rests(rests, now)
          rests.transform_values { |since, til| Rest.new(since: now - since, left: til && [til - now, 0.0].max) }.freeze
        end

        def self.failed(attempts, now)
          error = attempts.last_error or return
          Failed.new(**error.to_h.except(:first, :time, :at), since: now - error.first, last: now - error.time, now: attempts.failing?)
        end

        def self.parked(keys, now)
          return unless keys

          count, messages = keys.counts
          oldest = keys.views(MAX_KEYS).map do |one|
            Key.new(key: one.key && Printable.words(one.key, MAX_KEY_CHARACTERS), offset: one.offset, messages: one.messages,
              age: one.time && [Time.now - one.time, 0.0].max, attempt: one.attempts.number,
              left: one.due_at && [one.due_at - now, 0.0].max, error: failed(one.attempts, now))
          end
          Parked.new(keys: count, messages:, full: keys.full?, oldest: oldest.freeze)
        end
        private_class_method :state_of, :working_at, :rests, :failed, :parked

        # Of the report, for JSON: without group, topic and what all partitions of a topic have in common, and without what is nil, empty or
        # false.
        # @return [Hash{String=>Object}]
        def data
          plain(to_h.except(:group, :topic, :decoded_by, :not_on_workers, :ranges)
            .merge(ranges: ranges.first(MAX_RANGES).map { |range| [range.begin, range.end - 1] },
              done_behind: (ranges.sum(&:size) if ranges.any?)))
        end

        # @return [String] such as "backing off for 12 s more: attempt 4 of offset 4711, …"
        def to_s = Reporting::Wording.partition(data)

        private

        def plain(value)
          case value
          when Symbol then value.name
          when Float then value.round(3)
          when Array then value.map { |one| plain(one) }.freeze
          when Data then plain(value.to_h)
          when Hash then value.to_h { |name, one| [name.name, plain(one)] }.reject { |_, one| nothing?(one) }.freeze
          else value
          end
        end

        def nothing?(value) = value.nil? || value == false || (value.respond_to?(:empty?) && value.empty?)
      end
    end
  end
end
