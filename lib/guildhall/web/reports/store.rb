# frozen_string_literal: true

require "monitor"
require_relative "cause"
require_relative "history"
require_relative "last_report"
require_relative "record"
require_relative "stalls"

module Guildhall
  class Web
    class Reports
      # What was read of the topic, as far as pages need it, and no more than so much of it. Any thread.
      class Store
        MAX_PROCESSES = 1_000
        KEEP_ENDED_SECONDS = 3_600 # for which a process that has ended is remembered
        KEEP_SECONDS = 86_400 # and one that is lost, events, and errors
        MAX_EVENTS = 2_000
        MAX_CAUSES = 500
        MAX_REASONS = 20
        MAX_AGES = 500 # partitions whose age is kept for charts
        private_constant :MAX_PROCESSES, :KEEP_ENDED_SECONDS, :KEEP_SECONDS, :MAX_EVENTS, :MAX_CAUSES, :MAX_REASONS, :MAX_AGES

        # One of kind "event". at: when the broker got it.
        Event = Data.define(:at, :record) do
          def name = record["name"]
          def text = record["text"]
        end

        # @return [Hash{String=>Integer}] why records could not be used, and how many
        attr_reader :skipped
        # @return [Exception, nil] why nothing can be read now
        attr_accessor :problem
        # @return [Symbol] :new, :reading (what is there already) or :live
        attr_accessor :phase

        # @param limits [Kafka::Reporting::Limits]
        def initialize(limits = Kafka::Reporting::Limits::DEFAULT)
          @limits = limits
          @lock = Monitor.new
          @processes = {}
          @events = []
          @causes = {}
          @history = History.new
          @stalls = Stalls.new
          @ages = {}
          @skipped = {}
          @ahead = nil
          @phase = :new
        end

        def synchronize(&) = @lock.synchronize(&)

        # @param record [Kafka::Record]
        # @param live [Boolean] whether it has just been written: then the broker's clock can be told
        def take(record, live: false)
          data = Record.read(record)
          at = record.timestamp_ms ? record.timestamp_ms / 1000.0 : data["at"] || clock
          synchronize do
            # Of what was written earlier is known only that the broker's clock is not behind it.
            @ahead = [@ahead, at - clock].compact.max if live || at > clock + @ahead.to_f
            add(data, at)
          end
        rescue Record::Skipped => error
          synchronize do
            @skipped[error.message] = @skipped.fetch(error.message, 0) + 1 if @skipped.size < MAX_REASONS || @skipped.key?(error.message)
          end
        end

        # @return [Float] seconds since 1970, by the broker's clock as far as it is known
        def now = clock + @ahead.to_f

        # @return [Float, nil] seconds by which the broker's clock is ahead of this machine's; nil: not known yet
        attr_reader :ahead

        # Processes of which there are minutes, or a start in the last hour, but no state and no end: their last words were written
        # before what was read.
        # @return [Hash{String=>Float}] and when the last minute came, or else when they started
        def unheard
          synchronize do
            ended = @events.filter_map { |event| event.record["process"] if LastReport::ENDED.include?(event.name) }
            started = @events.select { |event| event.name == "started" && event.at > now - KEEP_ENDED_SECONDS }
            started.to_h { |event| [event.record["process"], event.at] }.merge(@history.heard).except(*@processes.keys, *ended)
          end
        end

        # @return [View] of this moment
        def view
          synchronize do
            forget
            View.new(self, processes: @processes.values, events: @events.dup, causes: @causes.values, history: @history, ages: @ages, now:,
              limits: @limits)
          end
        end

        private

        def clock = Process.clock_gettime(Process::CLOCK_REALTIME)

        def add(data, at)
          case data["kind"]
          when "state" then state(data, at)
          when "minute" then @history.add(data, at)
          when "event" then event(Event.new(at:, record: data))
          when "error" then error(data, at)
          end
        end

        # After its last words nothing is said any more: they may be read twice.
        def state(data, at)
          before = @processes[data["process"]]
          return if before && before.at > at

          @stalls.note(data, at)
          last = LastReport.new(data, at, before, limits: @limits)
          @processes[last.name] = last
          keep_ages(last)
          forget if @processes.size > MAX_PROCESSES
        end

        # Of partitions that are behind, the age in each minute, as long as somebody looks: minutes have that of a topic only.
        def keep_ages(last)
          minute = (last.at / 60).floor
          last.report["topics"]&.each do |topic|
            topic["partitions"].each do |row|
              place = [topic["group"], topic["topic"], row["partition"]]
              age = Kafka::Reporting::Wording.age(row).to_f
              ages = @ages[place]
              next unless ages || (age > @limits.of(topic["topic"]).old && @ages.size < MAX_AGES)

              ages ||= @ages[place] = {}
              ages[minute] = [ages[minute].to_f, age].max
              ages.delete_if { |one, _| one <= minute - 60 } if ages.size > 60
              @ages.delete(place) if ages.each_value.all? { |one| one < 1 }
            end
          end
        end

        def event(event)
          earlier = @events.rindex { |one| one.at <= event.at }
          @events.insert(earlier ? earlier + 1 : 0, event)
          @stalls.add(event) if event.name == "stalled"
          @events.shift if @events.size > MAX_EVENTS
        end

        def error(data, at)
          cause = @causes[data["fingerprint"]] ||= Cause.new(data["fingerprint"])
          cause.add(data, at)
          @causes.delete(@causes.values.min_by(&:last).fingerprint) if @causes.size > MAX_CAUSES
        end

        def forget
          moment = now
          @processes.delete_if { |_, last| moment - last.at > (last.ended? ? KEEP_ENDED_SECONDS : KEEP_SECONDS) }
          @processes.shift while @processes.size > MAX_PROCESSES
          @events.shift while @events.any? && moment - @events.first.at > KEEP_SECONDS
          @causes.delete_if { |_, cause| moment - cause.last > KEEP_SECONDS }
        end
      end
    end
  end
end
