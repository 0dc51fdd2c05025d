# frozen_string_literal: true

require "guildhall/clock"
require "guildhall/growing_pauses"
require "guildhall/kafka/broker/session"

module Guildhall
  class Web
    # What processes report to their topic (`config.reports = true`), for pages: read without a consumer group, by a client of its own, and
    # only while somebody looks. Any thread.
    # @api private
    class Reports
      LINE = "config.reports = true"
      GROUP = "guildhall.web" # a client has to name one; it joins none
      LATE_SECONDS = 25 # without a report: two were due
      LOST_SECONDS = 40 # without a report: three were due, and one may be late
      REST_SECONDS = 180 # after the last request
      WAIT_SECONDS = 2 # of the first request, for what was reported before it
      STATE_SECONDS = LOST_SECONDS # that are read at first of each kind
      MINUTES_SECONDS = 3_600
      EVENTS_SECONDS = 86_400
      MAX_RECORDS = 50_000 # of a partition, that are read at first
      WORDS_SECONDS = 90 # around the last minute of a process, in which its last words are looked for
      MAX_LOST = 20 # processes whose last words are looked for
      CLOSE_SECONDS = 5
      READ_MS = 250
      MAX_MESSAGES = 1_000
      MAX_BYTES = 4_000_000
      private_constant :REST_SECONDS, :WAIT_SECONDS, :STATE_SECONDS, :MINUTES_SECONDS, :EVENTS_SECONDS, :MAX_RECORDS, :WORDS_SECONDS,
        :MAX_LOST, :CLOSE_SECONDS, :READ_MS, :MAX_MESSAGES, :MAX_BYTES

      # @return [String] the topic's name
      attr_reader :topic

      # @param application [Kafka::Application]
      def initialize(application)
        @application = application
        @topic = application.config.reports_topic
        @lock = Mutex.new
        @changed = ConditionVariable.new
        @store = new_store
      end

      # Begins to read, if nobody has looked for a while. The same view serves all for {FRESH_SECONDS}. Blocks for what was reported
      # before, but for {WAIT_SECONDS} at most.
      # @param hours [Integer] of minutes that are wanted: more than one come some seconds later
      # @return [View]
      def view(hours: 1)
        @lock.synchronize do
          @asked_at = Clock.now
          begin_reading unless @thread&.alive?
          @wanted = [@wanted, hours * MINUTES_SECONDS].max
          limit = Clock.now + WAIT_SECONDS
          @changed.wait(@lock, Clock.left(limit)) while waiting? && Clock.now < limit
        end
        @lock.synchronize do
          @view = nil unless @store.phase == :live && Clock.now - @viewed_at.to_f < FRESH_SECONDS
          @viewed_at = Clock.now unless @view
          @view ||= @store.view
        end
      end

      # Blocks for some seconds at most.
      def close
        thread = @lock.synchronize do
          @asked_at = nil
          @thread
        end
        thread&.join(CLOSE_SECONDS) # one that waits for brokers ends by itself later
      end

      private

      def new_store = Store.new(@application.config.attention_limits)

      def waiting? = @store.phase != :live && @store.problem.nil?

      def begin_reading
        @store = new_store
        @wanted = MINUTES_SECONDS
        @thread = Thread.new { run }
        @thread.name = "guildhall dashboard"
      end

      def asked? = @lock.synchronize { !@asked_at.nil? && Clock.now - @asked_at < REST_SECONDS }

      def run
        pauses = GrowingPauses.new(1, 15)
        pause = nil
        while asked?
          begin
            Kafka::Broker::Session.open(@application.group_settings(GROUP)) { |session| read(session) }
          rescue StandardError => error # whatever it is, pages say it, and it is tried again
            tell { @store = new_store.tap { |store| store.problem = error } } # all is read again
            pause = pauses.after(pause)
            sleep(0.1) while asked? && (pause -= 0.1).positive?
          end
        end
      end

      def tell
        yield
        @lock.synchronize { @changed.broadcast }
      end

      def read(session)
        found = session.topic(@topic)
        ranges = session.ranges_of(found)
        @store.phase = :reading
        begins = begins(session, ranges)
        # Events and errors first: they say more of the states that come after them.
        begins.sort.reverse_each { |number, first| earlier(session, number, first...ranges[number].end) }
        last_words(session, ranges)
        tell do
          @store.problem = nil
          @store.phase = :live
        end
        follow(session, ranges, begins)
      end

      # @return [Hash{Integer=>Integer}] the offset from which each partition is read
      def begins(session, ranges)
        now = Time.now
        ranges.group_by { |number, _| back(number, ranges.size) }.flat_map do |seconds, some|
          found = session.offsets_at(some.map { |number, _| [@topic, number] }, now - seconds)
          some.map { |number, range| [number, [found[[@topic, number]] || range.end, range.end - MAX_RECORDS, range.begin].max] }
        end.to_h
      end

      # @return [Integer] seconds, of the kinds that this partition has
      def back(number, partitions)
        kinds = [STATE_SECONDS, MINUTES_SECONDS, EVENTS_SECONDS].select.with_index { |_, kind| kind % partitions == number }
        kinds.max || STATE_SECONDS
      end

      def earlier(session, number, range)
        session.each_record(@topic, number, range) do |record|
          @store.take(record)
          return unless asked?
        end
      end

      # Of processes that have ended before the states that were read.
      def last_words(session, ranges)
        number = 0 # of states
        range = ranges[number] or return
        @store.unheard.max_by(MAX_LOST) { |_, time| time }.group_by { |_, time| (time / WORDS_SECONDS).floor }.each_value do |some|
          times = some.map(&:last).minmax
          first, last = [times[0] - (WORDS_SECONDS / 2), times[1] + WORDS_SECONDS].map do |time|
            session.offset_at(@topic, number, Time.at(time))
          end
          next unless first

          session.each_record(@topic, number, first...(last || range.end), limit: MAX_RECORDS) do |record|
            @store.take(record) if some.any? { |name, _| name == record.key }
          end
        end
      end

      def follow(session, ranges, begins)
        known = MINUTES_SECONDS
        places = ranges.to_h { |number, range| [[@topic, number], range.end...Float::INFINITY] }
        session.reading(places, max_messages: MAX_MESSAGES, max_bytes: MAX_BYTES) do |reader|
          while asked?
            reader.read(READ_MS) { |_, records| records.each { |record| @store.take(record, live: true) } }
            known = read_back(ranges, begins) if @wanted > known
          end
        end
      end

      # Reads the minutes before those that were read, by a client of its own: the other one follows what comes.
      # @return [Integer] seconds that are known now
      def read_back(ranges, begins)
        wanted = @wanted
        number = 1 % ranges.size # of minutes
        Kafka::Broker::Session.open(@application.group_settings(GROUP)) do |session|
          first = session.offset_at(@topic, number, Time.now - wanted) || ranges[number].end
          earlier(session, number, [first, begins[number] - MAX_RECORDS].max...begins[number])
        end
        wanted
      end
    end
  end
end

require_relative "reports/store"
require_relative "reports/view"
