# frozen_string_literal: true

require "guildhall/clock"
require "guildhall/error_boundary"
require_relative "health"
require_relative "probes"
require_relative "reporting/trace"

module Guildhall
  module Kafka
    # Runs an application as a process: until a signal asks it to stop.
    #
    # INT, TERM, QUIT, HUP: finish the work in progress, commit, leave the group, exit; the second one ends the process at once.
    # An error after which a group cannot be consumed any more ends the process in the same way, with status 1.
    # TSTP: no new work, but stay in the group. CONT takes that back, also if both come at once, in whatever order.
    # TTIN: what every thread and partition is doing, on standard error.
    # @api private
    class Server
      STOP = %w[INT TERM QUIT HUP].freeze
      SIGNALS = [*STOP, "TSTP", "CONT", "TTIN"].freeze

      # Handlers of signals, for a time.
      module Signals
        # Signals to stop that come within this time are one request: `timeout` signals a process and then its group, and what runs a
        # Procfile sends TERM after the terminal's INT.
        BURST_SECONDS = 1
        # A TSTP that is handled so soon after a CONT does not count. Ruby calls the handlers of signals that wait together one right after
        # the other, in the order of their numbers: on Linux CONT (18) before TSTP (20), whichever was sent first. If the TSTP counted, a
        # process that was suspended and continued could stay quiet for ever.
        TOGETHER_SECONDS = 0.1

        # Inside a trap no lock can be taken: the block may only pass the signal on. What is ignored, as HUP under nohup, stays so.
        # @return [Hash{String=>Object}] the handlers before, for {.restore}
        def self.trap(names)
          stopped_at = resumed_at = -Float::INFINITY
          names.to_h do |name|
            previous = Kernel.trap(name) do
              now = Clock.now
              case name
              when *STOP then now - stopped_at > BURST_SECONDS ? stopped_at = now : next
              when "CONT" then resumed_at = now
              when "TSTP" then next if now - resumed_at < TOGETHER_SECONDS
              end
              yield name
            end
            Kernel.trap(name, "IGNORE") if previous == "IGNORE"
            [name, previous]
          end
        end

        # An operator who sends one of the signals that the parent of this process has left ignored would wait for nothing.
        def self.report_ignored(handlers, application)
          ignored = STOP.select { |name| handlers[name] == "IGNORE" }
          application.publish("signals.ignored", signals: ignored) if ignored.any?
        end

        def self.restore(handlers)
          handlers&.each { |name, handler| Kernel.trap(name, handler || "DEFAULT") }
        end
      end

      # @param warm_up [Boolean] whether to prepare Ruby's memory for a long life; in a process that was forked that would end what it
      #   shares with its parent
      # @param signals [Thread::Queue] names of signals that have come before {#run}; also :stop, :now and :failed are put there
      # @param memory [Hash{Symbol=>Object}] as for {Runtime::FullCollections::Memory}: what it shares with others, and what limits it
      def initialize(application, err: $stderr, warm_up: true, signals: Thread::Queue.new, memory: {})
        @application = application
        @err = err
        @warm_up = warm_up
        @signals = signals
        @memory = memory
        @signalled = false
        @watchers = []
      end

      # Stops in order, as after a signal. Any thread; does not wait.
      def stop_soon
        @signals << :stop
      end

      # Ends the process at once, as a second signal does. Any thread; does not wait.
      def end_now
        @signals << :now
      end

      # Blocks until the application has stopped.
      # @return [Integer] the exit status: 0, or 1 when the deadline came before the end of the work, or a group could not be
      #   consumed any more
      def run(**selection)
        previous = Signals.trap(SIGNALS) { |name| @signals << name }
        @application.on_failure { @signals << :failed }
        @application.on_stop_asked { stop_soon }
        @application.own_process = @memory
        warm_up
        @application.open_log
        Signals.report_ignored(previous, @application)
        start_watchers
        @application.start(**selection)
        wait_for_the_end
        return leave("not all work was finished within the shutdown timeout") unless stop

        @application.failure ? 1 : 0
      ensure
        @watchers.each { |watcher| ErrorBoundary.run(->(raised) { @application.error(raised, "server") }) { watcher.stop } }
        Signals.restore(previous)
      end

      private

      # What was loaded is here to stay: collections need not go through all of it again while the first messages come.
      # Compacting beside other Ractors crashes Ruby 3.4.
      def warm_up
        Process.warmup if @warm_up && Ractor.count == 1
      end

      # Those that watch the process are told how it is: over HTTP if `config.health` is set, and systemd if it has started the process.
      def start_watchers
        config = @application.config
        health = Health.new(@application) if config.health || ENV.key?("NOTIFY_SOCKET")
        @watchers << Probes.new(config.health, health, config.metrics) { @application.report }.start if config.health
        @watchers << Systemd.new(@application, health).start if ENV.key?("NOTIFY_SOCKET")
      end

      def wait_for_the_end
        loop do
          case signal = @signals.pop
          when "TTIN" then dump
          when "TSTP" then @application.quiet
          when "CONT" then @application.resume
          else return @signalled = STOP.include?(signal)
          end
        end
      end

      def stop
        stopper = Thread.new { @application.stop }
        until stopper.join(0.05)
          leave("a second signal") if asked_again?
        end
        stopper.value
      end

      # A signal is the second one only if the first one was a signal, too: a supervisor may send one to parent and children.
      def asked_again?
        signal = @signals.pop(timeout: 0)
        dump if signal == "TTIN"
        return signal == :now unless STOP.include?(signal)

        @signalled.tap { @signalled = true }
      end

      # Not by `exit`: what did not end in time would hold up an orderly exit as well.
      def leave(reason)
        left = @application.unfinished | @application.partitions.select(&:working?).map(&:to_s)
        say("guildhall: #{reason}: the process ends now#{"; still at work: #{left.join(", ")}" if left.any?}")
        [$stdout, @err].each(&:flush)
      ensure
        exit!(1) # even if the log is not read
      end

      def dump = say(Reporting::Trace.lines(@application).join("\n"), "INFO")
      def say(text, severity = "ERROR") = @err.write(@application.format_line(text, severity))
    end
  end
end
