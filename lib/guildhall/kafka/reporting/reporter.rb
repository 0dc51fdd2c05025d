# frozen_string_literal: true

require "guildhall/clock"
require "guildhall/error_boundary"
require "guildhall/printable"
require_relative "../logging/event_log"
require_relative "error_counts"
require_relative "minutes"
require_relative "report"
require_relative "report_topic"

module Guildhall
  module Kafka
    module Reporting
      # Writes what a process does into a topic (`config.reports`), for the dashboard: its state every {EVERY_SECONDS} and soon after it has
      # changed, figures of each minute, events, and errors by their cause. A thread of its own does so while the application runs; others
      # only leave it a note. Nothing of it holds up or fails what the application does: what cannot be sent is dropped, and the gap in
      # `seq` shows that. After a fork the child reports nothing before its application is started.
      # @api private
      class Reporter
        EVERY_SECONDS = 10
        LOOK_SECONDS = 1 # between two looks whether the state has changed
        MINUTE_SECONDS = 60
        FINISH_SECONDS = 1.5 # that the end of the application waits for the last words
        SEND_SECONDS = 1 # of it, for the brokers
        MAX_WAITING = 1_000 # events; while the brokers are away more are dropped
        MAX_PARTITIONS = 200 # named in an event
        # Events of the application => the name of the record.
        EVENTS = {"app.running" => "started", "app.stopping" => "stopping", "rebalance.partitions_assigned" => "rebalanced",
                  "rebalance.partitions_revoked" => "rebalanced", "partition.stalled" => "stalled", "schedule.ran" => "task_failed"}.freeze
        # After these the state may be another one.
        CHANGES = [*EVENTS.keys, "app.quiet", "app.resumed", "consumer.retrying", "partition.paused", "partition.resumed", "key.parked",
                   "key.resumed", "dead_letter_queue.blocked", "dead_letter_queue.dispatched", "forwarding.blocked"].freeze
        PLACE = %i[group topic partition].freeze
        # What of a partition is told at once, when it begins and when it ends; beside that: that a message fails, or keys are parked. Of a
        # topic: the first error and the first dead letter of a minute.
        TROUBLES = %w[stalled blocked denied].freeze
        RESTS = %w[user command keys].freeze # reasons
        COUNTED = %w[errors dead].freeze
        private_constant :MAX_WAITING, :MAX_PARTITIONS, :EVENTS, :CHANGES, :PLACE, :TROUBLES, :RESTS, :COUNTED

        # @return [Minutes] a backend of the metrics
        attr_reader :minutes

        # Starts nothing.
        def initialize(application)
          @application = application
          @settings = application.config.report_settings
          @errors = ErrorCounts.new(messages: @settings[:messages])
          @minutes = Minutes.new do |workers|
            event("worker_died", "#{Printable.count(workers, "worker")} of the pool died: the log says why")
          end
          @words = Logging::EventLog.new(nil)
          @events = Thread::Queue.new
          @pid = @thread = nil
          @subscribed = @changed = @troubled = false
        end

        # Tells of what has happened. Does not block, and does not raise; any thread.
        # @param name [String] of the event
        # @param text [String] a sentence for people
        # @param fields [Hash{Symbol=>Object}] further ones, as JSON has them; nil: left out
        # @return [nil]
        def event(name, text, **fields)
          return if (@pid && @pid != Process.pid) || @events.size >= MAX_WAITING

          @events << {"name" => name, "text" => Printable.words(text, Logging::EventLog::MAX_CHARACTERS), **fields.transform_keys(&:name),
                      "at" => now}.compact
          nil
        rescue ::ClosedQueueError
          nil # the application stops
        end

        # Its application is about to start.
        # @param runtime [Runtime] that of the application
        def start(runtime)
          @thread&.join # of a run before
          @pid = Process.pid
          @runtime = runtime
          @origin = Report.origin(@application.config, ProcessName.of(runtime.started_at)).freeze
          @seq = 0
          @seen = nil
          @state_due = @looked_at = Clock.now
          @minute_due = Clock.now + MINUTE_SECONDS
          @minutes.take
          @events = Thread::Queue.new if @events.closed?
          subscribe unless @subscribed
          @thread = Thread.new { guarded { run } }
          @thread.name = "guildhall reports"
          @thread.report_on_exception = false
        end

        # The application has stopped: writes the last words. Blocks for {FINISH_SECONDS} at most.
        def finish
          return unless @pid == Process.pid && @thread

          @events.close
          @thread.join(FINISH_SECONDS)
        end

        private

        def now = Time.now.to_f.round(3)

        def subscribe
          @subscribed = true
          @application.instrumentation.subscribe(*CHANGES) { |event| happened(event) }
          @application.instrumentation.subscribe("error.occurred") { |event| failed(**event.payload) }
        end

        # Called in threads of others, as {#failed}.
        def happened(event)
          return unless @pid == Process.pid

          @changed = true
          name = EVENTS[event.name]
          tell(name, event) if name && (name != "task_failed" || event.payload[:error_class])
        end

        def tell(name, event)
          payload = event.payload
          name = "lost" if payload[:lost]
          fields = payload.slice(*PLACE, :member, :position, :task, :action)
          if (places = payload[:partitions])
            return if places.empty?

            fields[:partitions] = places.first(MAX_PARTITIONS).map { |place| place.join("/") }
          end
          event(name, @words.text(event.name, payload), **fields)
        end

        def failed(error:, type:, **details)
          return unless @pid == Process.pid

          @errors.note(error:, type:, **details)
          @minutes.failed(**details.slice(:group, :topic)) if details[:partition]
          @changed = true
          return unless type == "fatal"

          event("failed", said(error, details[:message]), **details.slice(*PLACE))
        end

        # @return [String] of an error its message, or without messages its class and place
        def said(error, message)
          @settings[:messages] ? message.to_s : Printable.valid([error.class.name, *Logging::ApplicationFrame.place(error)].join(" at "))
        end

        # The reporter's thread.
        def run
          topic = ReportTopic.new(@settings[:topic], @application.config) do |problem|
            @application.publish("app.advised", message: problem, about: :topics, group: nil, topic: @settings[:topic])
          end
          waiting = []
          until @events.closed?
            event = @events.pop(timeout: LOOK_SECONDS)
            waiting << event if event && waiting.size < MAX_WAITING
            guarded { write_due(topic, waiting) } if topic.ready?
          end
          last_words(topic, waiting)
        ensure
          topic&.close(SEND_SECONDS)
        end

        def guarded(&) = @application.instrumentation.contain(self, "config.reports", &)

        def write_due(topic, waiting)
          write(topic, "event", waiting.shift) until waiting.empty?
          @errors.take.each { |record| write(topic, "error", record) }
          look(topic)
          write_minute(topic) if Clock.now >= @minute_due
        end

        def last_words(topic, waiting)
          while (event = @events.pop)
            waiting << event
          end
          waiting.each { |one| write(topic, "event", one) }
          guarded { @application.flush_metrics }
          @errors.take(all: true).each { |record| write(topic, "error", record) }
          write_minute(topic)
          write(topic, "event", {"name" => "stopped", "text" => @words.text("app.stopped", unfinished: @runtime.unfinished)})
          report = report()
          write_state(topic, {**report, "state" => report["failure"] ? "failed" : "stopped"})
        end

        def look(topic)
          due = Clock.now >= @state_due
          return unless due || ((@changed || @troubled) && Clock.now >= @looked_at + LOOK_SECONDS)

          @changed = false
          @looked_at = Clock.now
          report = report()
          seen = noteworthy(report)
          write_state(topic, report) if due || seen != @seen
          @seen = seen
        end

        def report = Report.new(@application, @runtime).to_h

        # What is told at once when it changes.
        def noteworthy(report)
          troubled = false
          rows = report["topics"].flat_map do |topic|
            topic["partitions"].map do |row|
              troubles = troubles(row)
              troubled ||= troubles.any?
              [topic["group"], topic["topic"], row["partition"], *troubles]
            end
          end
          @troubled = troubled
          [report["state"], rows, report["topics"].map { |topic| COUNTED & topic.fetch("minute", {}).keys }]
        end

        def troubles(row)
          [*(TROUBLES & row.keys), *(RESTS & (row["rests"] || {}).keys), *("error" if row.dig("error", "now")),
           *("parked" if row.dig("parked", "keys").to_i.positive?)]
        end

        def write_state(topic, report)
          @state_due = Clock.now + EVERY_SECONDS
          report = without_messages(report) unless @settings[:messages]
          write(topic, "state", {**report, "seq" => @seq += 1, "every" => EVERY_SECONDS})
        end

        def without_messages(report)
          topics = report["topics"].map do |topic|
            {**topic, "partitions" => topic["partitions"].map { |row| without_message(row) }}
          end
          {**report, **without_failure(report), "topics" => topics}
        end

        def without_failure(report)
          return {} unless report["failure"]

          text = said(@application.failure, nil)
          {"failure" => text, "live" => report["live"].map { |one| one["code"] == "failed" ? {**one, "text" => "failed: #{text}"} : one }}
        end

        # @param row [Hash{String=>Object}] of a partition, or of a parked key
        def without_message(row)
          parked = row["parked"]&.then { |keys| {**keys, "oldest" => keys["oldest"]&.map { |key| without_message(key) }}.compact }
          {**row, "error" => row["error"]&.except("message"), "parked" => parked}.compact
        end

        def write_minute(topic)
          @minute_due = Clock.now + MINUTE_SECONDS
          write(topic, "minute", {**@minutes.take, "runners" => @application.runners&.size}.compact)
        end

        def write(topic, kind, record) = topic.write({**@origin, "kind" => kind, "at" => now, **record})
      end
    end
  end
end
