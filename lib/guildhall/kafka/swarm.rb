# frozen_string_literal: true

require "etc"
require "guildhall/option_rules"
require "guildhall/printable"
require_relative "application"
require_relative "health"
require_relative "partition/backoff"
require_relative "probes"
require_relative "process_name"
require_relative "routing/topic"
require_relative "server"
require_relative "swarm/child_process"
require_relative "swarm/worker"

module Guildhall
  module Kafka
    # Runs an application in several processes: `guildhall swarm`. The parent loads the application and forks; it never starts a client, a
    # Ractor or a thread, so that it can fork again when a process has ended. Processes share the memory that was filled before the fork.
    #
    # Each process is a {Worker}, and a member of the groups. The parent replaces a process that has ended, that reports that it is not
    # alive, that reports nothing for a time, or that has too much memory.
    # @api private
    class Swarm
      SIGNALS = [*Server::SIGNALS, "USR1", "USR2"].freeze
      PACE_SECONDS = 0.2 # between two looks at the processes, where nothing happens
      SILENCE_SECONDS = 30 # without a heartbeat, after which a process is killed
      MEMORY_PACE_SECONDS = 2 # between two looks at the memory
      END_NOW_SECONDS = 3 # that a process has after a second signal
      GRACE_SECONDS = Application::GRACE_SECONDS + 3 # beyond the shutdown timeout, after which a process is killed
      OPTIONS = OptionRules.new(processes: OptionRules.integer.or(nil),
        memory_limit: OptionRules.rule("a number > 0 (MiB)") { it.is_a?(Numeric) && it.real? && it.positive? }.or(nil),
        silence: OptionRules.seconds)
      STARTED_AGAIN = ["Timeout stdlib thread", "FFI Callback Dispatcher"].freeze # after a fork, by themselves
      private_constant :OPTIONS, :STARTED_AGAIN

      # @return [Symbol] :running, :quiet or :stopping
      attr_reader :state

      # @param processes [Integer, nil] nil: one for each core
      # @param memory_limit [Numeric, nil] MiB of resident memory, beyond which a process is replaced; nil: none
      def initialize(application, processes: nil, memory_limit: nil, silence: SILENCE_SECONDS)
        OPTIONS.check!({processes:, memory_limit:, silence:}, owner: "swarm")
        @application = application
        @config = application.config
        @memory_limit = memory_limit
        @silence = silence
        backoff = Partition::Backoff.new(@config, Routing::Retries.new)
        @children = Array.new(processes || Etc.nprocessors) { |index| ChildProcess.new(index + 1, backoff) }.freeze
        @health = CombinedHealth.new(@children, self)
        @state = :running
        @status = 0
        @memory_due = @systemd_due = Clock.now
        @ends = [] # of processes, that no other one reports yet
      end

      # Blocks until all processes have ended, after a signal.
      # @return [Integer] the exit status: 0, or 1 when a process has not stopped in order, or 78 when none can start as it is configured
      # @raise [ConfigurationError] listing every error of configuration and routes
      # @raise [ApplicationStateError] where the application has started a Ractor while it was loaded
      def run(**selection)
        @selection = selection
        prepare
        listen
        Server::Signals.report_ignored(@handlers, @application)
        @children.each { |child| start(child) }
        supervise while @children.any? { |child| child.running? || child.due }
        @application.publish("app.stopped", unfinished: [])
        @status
      ensure
        Server::Signals.restore(@handlers)
        @probes&.close
      end

      private

      # What the parent does here, no process has to do, and they share its memory.
      def prepare
        Guildhall.before_fork
        raise ApplicationStateError, "the application has started a Ractor while it was loaded: start it after the fork" if Ractor.count > 1

        ConfigurationCheck.run(@application, @selection)
        @application.open_log
        Process.warmup
        used = ChildProcess.memory_of(Process.pid)
        if @memory_limit && used >= @memory_limit
          raise ConfigurationError, "memory limit #{@memory_limit} MB: the application alone takes #{used.round} MB, before it consumes"
        end

        threads = (Thread.list - [Thread.current]).map { |thread| thread.name || thread.inspect } - STARTED_AGAIN
        @application.publish("swarm.running", version: Guildhall::VERSION, processes: @children.size, pid: Process.pid, threads:)
      end

      # Inside a trap no lock can be taken. What reaches a process that was just forked is for its server, which has no traps yet.
      def listen
        @signals = Thread::Queue.new
        @early = Thread::Queue.new
        @wake, waker = IO.pipe
        parent = Process.pid
        @handlers = Server::Signals.trap(SIGNALS) do |name|
          if Process.pid == parent
            @signals << name
            waker.write_nonblock(".", exception: false)
          elsif Server::SIGNALS.include?(name)
            @early << name
          end
        end
        @probes = Probes.new(@config.health, @health) { report } if @config.health
        @systemd = Systemd.new(@application, @health) if ENV.key?("NOTIFY_SOCKET")
      end

      def start(child)
        child.start(@children) do |socket|
          @probes&.close
          Server::Signals.restore(@handlers.slice("USR1", "USR2"))
          exit(Worker.new(@application, child.number, @children.size, @early, @memory_limit).run(socket, @selection))
        end
        @application.publish("swarm.process_started", number: child.number, pid: child.pid)
      rescue SystemCallError => error # no memory, or too many processes
        @application.error(error, "fork")
        restart(child)
      end

      def supervise
        IO.select([@wake, *@probes&.sockets, *@children.filter_map(&:socket)], nil, nil, PACE_SECONDS)
        @wake.read_nonblock(1_000, exception: false)
        handle(@signals.pop) until @signals.empty?
        @children.each { |child| follow(child) }
        report_ends
        look_at_memory
        @probes&.answer
        @systemd_due = Clock.now + (@systemd.tell || Float::INFINITY) if @systemd && Clock.now >= @systemd_due
      end

      def handle(signal)
        case signal
        when *Server::STOP
          @state == :stopping ? @children.each { |child| child.end_now(END_NOW_SECONDS) } : stop
        when "USR1", "USR2" then pass_on(signal) if @handlers[signal].is_a?(Proc)
        else
          @state = :quiet if signal == "TSTP" && @state == :running
          @state = :running if signal == "CONT" && @state == :quiet
          pass_on(signal)
        end
      end

      def pass_on(signal) = @children.each { |child| child.signal(signal) }

      def stop
        @state = :stopping
        @children.each { |child| child.stop(@config.shutdown_timeout + GRACE_SECONDS) } # first: a subscriber may hang
        @application.publish("app.stopping", timeout: @config.shutdown_timeout)
      end

      def follow(child)
        child.listen
        status = child.reap
        if status then ended(child, status)
        elsif child.due then start(child) if @state == :running && Clock.now >= child.due
        elsif child.late? then child.signal("KILL")
        elsif child.running? then look_after(child)
        end
      end

      def ended(child, status)
        @status = [@status, 1].max if @state == :stopping && !status.success?
        @application.publish("swarm.process_ended", number: child.number, pid: status.pid, status: child.ended)
        @ends << {"number" => child.number, "pid" => status.pid, "status" => child.ended} if @config.reports
        return if @state == :stopping
        return restart(child) unless status.exitstatus == ConfigurationError::EXIT_STATUS

        @status = ConfigurationError::EXIT_STATUS # no other process could start either
        stop
      end

      # By one that goes on, if there is one.
      def report_ends
        return if @ends.empty?

        teller = @children.select(&:running?).min_by { |child| child.stopping? ? 1 : 0 } or return
        teller.tell_of_end(@ends.shift) until @ends.empty?
      end

      # While the swarm is quiet, it waits for CONT.
      def restart(child)
        seconds = child.schedule_restart
        @application.publish("swarm.process_restarting", number: child.number, seconds:) if @state == :running
      end

      def look_after(child)
        return if @state != :running || child.stopping?

        if child.silence > @silence then replace(child, "no heartbeat for #{Printable.duration(child.silence)}", 0)
        elsif child.sick.any? then replace(child, "it is not alive: #{child.sick.join("; ")}")
        end
      end

      # Replaces one process at a time: the group has to do without it for a moment.
      def look_at_memory
        return if @memory_limit.nil? || @state != :running || Clock.now < @memory_due || @children.any?(&:stopping?)

        @memory_due = Clock.now + MEMORY_PACE_SECONDS
        megabytes, child = @children.filter_map { |one| one.memory&.then { |used| [used, one] } }.find { |used, _| used > @memory_limit }
        replace(child, "it has #{megabytes.round} MB of memory, and the limit is #{@memory_limit}") if child
      end

      def replace(child, reason, timeout = @config.shutdown_timeout + GRACE_SECONDS)
        @application.publish("swarm.process_stopping", number: child.number, pid: child.pid, reason:)
        child.stop(timeout)
      end

      # What `/state` of the parent answers: its processes answer for themselves, on ports of their own.
      def report
        port = @config.health[:port]
        processes = @children.map do |child|
          {"number" => child.number, "pid" => child.pid, "port" => (port + child.number if port.positive?), "sick" => child.sick,
           "unready" => child.unready, "ended" => child.ended}.compact
        end
        host = ProcessName.host
        {"v" => Reporting::Report::VERSION, "kind" => "swarm", "process" => "#{host}:#{Process.pid}", "at" => Time.now.to_f.round(3),
         "state" => @state.name, "host" => host, "pid" => Process.pid, "processes" => processes}
      end

      # Checks settings and routes in a process of its own: librdkafka does so by making a client, and the parent must not have had one.
      module ConfigurationCheck
        def self.run(application, selection)
          reader, writer = IO.pipe(binmode: true)
          pid = fork do
            reader.close
            writer.write(Marshal.dump(problem(application, selection)))
          ensure
            writer.close
            exit!(0)
          end
          writer.close
          answer = reader.read
          raise ConfigurationError, "settings and routes could not be checked: the process that checks them has ended" if answer.empty?

          name, message = Marshal.load(answer) # rubocop:disable Security/MarshalLoad -- our own process has written it
          raise Object.const_get(name), message if name
        ensure
          reader&.close
          Process.wait(pid) if pid
        end

        def self.problem(application, selection)
          application.check!(**selection)
          nil
        rescue StandardError, ScriptError => error
          name = error.is_a?(ConfigurationError) ? error.class.name : ConfigurationError.name # others take more than a message
          [name, error.is_a?(Guildhall::Error) ? error.message : error.full_message(highlight: false)]
        end
        private_class_method :problem
      end

      # What the parent tells those that watch it, for all its processes.
      class CombinedHealth
        def initialize(children, swarm)
          @children = children
          @swarm = swarm
        end

        # At least one process runs and is alive: the parent replaces the others itself.
        def live
          problems = problems(&:sick)
          answer(problems.map(&:first).uniq.size < @children.size ? [] : problems)
        end

        # Each process is ready.
        def ready
          return answer(problems(&:unready)) if @swarm.state == :running

          Health::Answer.new(problems: [Health::Problem.new(code: :draining, text: "draining")])
        end

        private

        # @return [Array<Array(Integer, String)>] the process's number, and what is wrong
        def problems
          @children.flat_map { |child| (child.running? ? yield(child) : ["does not run"]).map { |problem| [child.number, problem] } }
        end

        def answer(problems)
          Health::Answer.new(problems: problems.map do |number, problem|
            Health::Problem.new(code: :process, text: "process #{number}: #{problem}")
          end)
        end
      end
    end
  end
end
