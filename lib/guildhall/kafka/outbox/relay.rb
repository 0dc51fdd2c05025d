# frozen_string_literal: true

require "guildhall/clock"
require "guildhall/error_boundary"
require "guildhall/growing_pauses"
require_relative "../outbox"
require_relative "../producing/delivery"

module Guildhall
  module Kafka
    module Outbox
      # Sends the rows of the outbox and deletes them: a thread of a process that consumes, with a producer and a connection to the database
      # of its own. Each turn takes leases of some shards with rows that wait, sends the first rows of each in order, waits until brokers
      # have them, deletes them, and gives the leases back. It looks for rows that are there, not for those behind a number: a row that
      # becomes visible late, from a long transaction, is sent as soon as it is visible.
      #
      # No row is given up while brokers cannot be reached: librdkafka sends it for as long as that takes (`message.timeout.ms` 0), because
      # what was given up might arrive behind what comes after. It tells of the first row that a broker refuses, and sends nothing behind it
      # (`enable.gapless.guarantee`). Brokers refuse all messages of a request for one of them: these rows are sent again, each by itself,
      # and the one that is refused then is parked.
      #
      # A relay that cannot renew its leases drops what it has handed over, before another one may take them over: in a thread of its own,
      # for the database may not answer.
      class Relay
        POLL_SECONDS = 1 # between two looks for rows, where the database wakes nobody
        TEND_SECONDS = Shard::Leases::RENEW_SECONDS # between two renewals of leases, and two measurements
        ROWS = 100 # of a shard in a turn
        BYTES = 67_108_864 # of payloads in a turn, but for a single row: a process that they do not fit into would be killed by each turn
        FULL_SECONDS = 5 # for room in the producer's queue
        FENCE_SECONDS = 1 # between two looks whether leases are late
        SILENT_SECONDS = 30 # of a turn, after which brokers are a problem
        STOP_SECONDS = 10 # that a stop waits for what is on its way: the next relay sends it again otherwise
        PAUSES = GrowingPauses.new(1, 30) # after an error of the database, say
        # The producer has failed, not the message.
        PASSING = %i[fatal gapless_guarantee].freeze
        NOT_SENT = TimeoutError.new("a message before this one was not sent").freeze
        private_constant :POLL_SECONDS, :TEND_SECONDS, :ROWS, :BYTES, :FULL_SECONDS, :FENCE_SECONDS, :SILENT_SECONDS, :STOP_SECONDS,
          :PAUSES, :PASSING, :NOT_SENT

        # @return [String, nil] why nothing is sent now; nil: nothing is wrong
        attr_reader :problem

        def initialize(application, leases: Shard::Leases.new(application.process_name))
          @application = application
          @leases = leases
          @producer = application.patient_producer
          @wakes = Thread::Queue.new
          @tend_at = @began_at = Clock.now
          @deadline = @problem = nil
          @batches = false
          @awaiting = false # whether messages were handed over of which nobody knows yet what has become of them
        end

        # Where a subscriber ends its thread (Thread.exit), another one goes on.
        def start
          @thread = Thread.new do
            run
          ensure
            start unless stopping?
          end
          @thread.name = "guildhall outbox"
          @thread.report_on_exception = false
          @fence ||= fence
          self
        end

        def include?(thread) = thread.equal?(@thread)

        # Begins no further turn. Does not block.
        # @param deadline [Float] of the {Clock}
        def stop(deadline)
          @deadline ||= [deadline - 1, Clock.now + STOP_SECONDS].min
          @wakes << nil
        end

        # Blocks until the turn at hand has ended, or kills its thread.
        # @return [Boolean] whether it has ended
        def close(deadline)
          ended = @thread.join(Clock.left(deadline))
          @thread.kill unless ended
          @fence.kill.join
          @producer.close(Clock.now)
          !ended.nil?
        end

        private

        def stopping? = !@deadline.nil?
        def gives_up? = !@deadline.nil? && Clock.now > @deadline

        # What was handed over while it was late is dropped at the next look.
        def fence
          thread = Thread.new do
            loop do
              sleep(FENCE_SECONDS)
              ErrorBoundary.run(->(error) { failed(error) }) { @producer.purge if @leases.late? }
            end
          end
          thread.name = "guildhall outbox fence"
          thread
        end

        def run
          pause = nil
          until stopping?
            ErrorBoundary.run(->(error) { failed(error) }) { quietly { relay { pause = nil } } }
            @wakes.pop(timeout: pause = PAUSES.after(pause)) unless stopping?
          end
        end

        # A log of all statements, as in development, would have three lines a second.
        def quietly(&)
          log = ::ActiveRecord::Base.logger
          log.respond_to?(:silence) ? log.silence(Logger::INFO, &) : yield
        end

        # Until it is stopped, or something raises.
        # @yield after each turn
        def relay
          Record.with_connection do |connection|
            fault = Message.fault || Shard.fault and raise fault

            Shard.prepare
            @batches = Outbox.batches?
            until stopping?
              tend
              sent = turn
              @problem = nil
              yield
              wait(connection) unless sent || stopping?
            end
          ensure
            connection.execute("UNLISTEN #{Record::CHANNEL}") if Record.notifies? && connection.active?
          end
        end

        # @return [Boolean] whether it has got anywhere
        def turn
          @began_at = Clock.now
          rows = read(@leases.take)
          rows.any? && deliver(rows).positive?
        ensure
          @producer.purge if @awaiting # it would arrive behind what another relay, which may have the leases from now on, sends
          @awaiting = false
          @leases.release
        end

        # @return [Array<Message>] the first ones of each shard, as many as there is room for
        def read(shards)
          bytes = 0
          ids = shards.flat_map do |shard|
            sizes = Message.waiting.where(shard:).order(:id).limit(ROWS).pluck(:id, ::Arel.sql("LENGTH(payload)"))
            taken = sizes.take_while do |_, size|
              before = bytes
              bytes += size.to_i
              before.zero? || bytes <= BYTES
            end
            taken.map(&:first)
          end
          ids.any? ? Message.where(id: ids).order(:id).to_a : []
        end

        # @return [Integer] rows for which nothing is left to do
        def deliver(rows)
          failures = send_rows(rows)
          delete(rows - failures.keys)
          parked, left = failures.partition { |_, error| refused?(error, alone: rows.one?) }
          parked.each { |row, error| park(row, error) }
          again = left.all? { |_, error| passing?(error) } ? [] : left
          rows.size - left.size + again.take_while { |row, _| alone(row) }.size
        end

        # @return [Boolean] whether nothing is left to do for it
        def alone(row)
          tend
          !gives_up? && deliver([row]).positive?
        end

        # @return [Hash{Message=>Exception}] of those that did not arrive, in order
        def send_rows(rows)
          failures = {}
          ready = rows.to_h { |row| [row, prepare(row, failures)] }.compact
          @awaiting = true
          deliveries, error = produce(ready.values)
          ready.each_key.with_index do |row, index|
            failures[row] = index < deliveries.size ? failure(deliveries[index]) : error
            error = NOT_SENT if index == deliveries.size
          end
          @awaiting = gives_up?
          rows.to_h { |row| [row, failures[row]] }.compact
        end

        # @return [Hash{Symbol=>Object}, nil] nil: it cannot be sent, or a row before it cannot be sent now
        def prepare(row, failures)
          return @producer.prepared(row.to_message) unless failures.each_value.any? { |error| passing?(error) }

          failures[row] = NOT_SENT
          nil
        rescue ProduceError, Guildhall::ArgumentError, DecodeError => error
          failures[row] = error
          nil
        end

        # All in one call: between two calls a producer that has failed begins anew, and what comes behind would arrive before.
        # @return [Array(Array<Producing::Delivery>, Exception)] of the first ones; why the next one was not taken, or nil
        def produce(messages)
          return [[], NOT_SENT] if @leases.late?

          [@producer.start_all(messages, FULL_SECONDS), nil]
        rescue ProduceError, ClosedProducerError => error
          [error.dispatched, error]
        end

        # Blocks until it has arrived, or failed.
        # @return [Exception, nil]
        def failure(delivery)
          delivery.await(gives_up? ? Clock.now : Float::INFINITY, lambda {
            tend
            tell_of_silence(delivery.topic)
            gives_up?
          })
          nil
        rescue ProduceError, TimeoutError => error
          error
        end

        # Whether the row may be sent again, as if nothing had been.
        def passing?(error)
          return error.is_a?(ClosedProducerError) || error.is_a?(TimeoutError) unless error.is_a?(ProduceError)

          Producing::Delivery.passing?(error) || Broker::Errors.replaced?(error.code) || PASSING.include?(error.code)
        end

        # That a topic is missing, or may not be written to, concerns none of the others.
        def refused?(error, alone:)
          return false if passing?(error)

          alone || !error.is_a?(ProduceError) || Broker::Errors.unusable?(error.code)
        end

        def delete(rows)
          return if rows.empty?

          Message.where(id: rows.map(&:id)).delete_all
          rows.group_by(&:topic).each { |topic, some| @application.publish("outbox.sent", topic:, size: some.size) }
        end

        def park(row, error)
          reason = ProduceError.reason_of(error)
          row.update_columns(parked: true, error: reason)
          @application.publish("outbox.parked", id: row.id, topic: row.topic, error_class: error.class.name, reason:)
        end

        # Now and then, also while it waits for brokers: others would take its leases over, and nobody would see how far behind it is.
        def tend
          return if Clock.now < @tend_at

          @tend_at = Clock.now + TEND_SECONDS
          ErrorBoundary.run(->(error) { failed(error) }) do
            @leases.renew
            measure("outbox.measured") { Message.status }
            measure("batch.measured") { ActiveJob::Batch.status } if @batches
          end
        end

        def measure(event) = (@application.publish(event, **yield.to_h) if @application.listening?(event))

        # A partition without a leader, say, holds up all shards of the turn.
        def tell_of_silence(topic)
          seconds = (Clock.now - @began_at).round
          @problem = "no broker has taken a message to topic #{topic} for #{seconds} s" if seconds > SILENT_SECONDS
        end

        def failed(error)
          @problem = "#{error.class}: #{ErrorBoundary.message(error)}"
          @application.error(error, "outbox")
        end

        # Until rows come, for a while, or the relay is stopped.
        def wait(connection)
          return @wakes.pop(timeout: POLL_SECONDS) unless Record.notifies?

          connection.execute("LISTEN #{Record::CHANNEL}") # each time: it may be another connection by now
          database = connection.raw_connection
          database.wait_for_notify(POLL_SECONDS)
          nil while database.notifies
        end
      end
    end
  end
end
