# frozen_string_literal: true

require "net/http"
require "socket"
require "tmpdir"
require "test_helper"
require "guildhall/kafka"

# A swarm in a process of its own. No broker is there, and none is needed: what is tested are processes.
class KafkaSwarmTest < GuildhallTest
  LIMIT = 60 # seconds

  # Writes a line for each event; its first argument is Ruby for the application, the others are options of the swarm.
  PROGRAM = <<~'RUBY'
    require "guildhall/kafka"
    $stdout.sync = true
    %w[INT TERM QUIT HUP].each { |name| trap(name, "DEFAULT") } # what is ignored, as by a job in the background, stays so
    class Idle < Guildhall::Kafka::Consumer
      def consume = nil
    end
    Guildhall::Kafka.configure do |config|
      config.kafka = {"bootstrap.servers": "127.0.0.1:1", "group.instance.id": "a"}
      config.logger = nil
      config.shutdown_timeout = 20
      config.pause_timeout = 0.05
      config.pause_max_timeout = 0.1
    end
    Guildhall::Kafka.routes { topic("t") { consumer Idle } }
    events = Guildhall::Kafka.instrumentation
    say = ->(*words) { $stdout.syswrite("#{words.join(" ")}\n") }
    events.subscribe("swarm.process_started") { |event| say.call("started", *event.payload.values_at(:number, :pid)) }
    events.subscribe("swarm.process_stopping") { |event| say.call("replaces", *event.payload.values_at(:number, :reason)) }
    events.subscribe("swarm.process_ended") { |event| say.call("ended", *event.payload.values_at(:number, :status)) }
    events.subscribe("app.running") { say.call("running", Process.pid, Process.ppid) }
    events.subscribe("app.stopped") { say.call("stopped", Process.pid) }
    eval(ARGV.shift)
    exit(Guildhall::Kafka::Swarm.new(Guildhall::Kafka.application, **eval(ARGV.shift)).run)
  RUBY

  # Says in each round of the parent whose turn it is to be started again, and is not.
  OWED = <<~'RUBY'
    Guildhall::Kafka::Swarm.prepend(Module.new do
      define_method(:supervise) do
        super()
        owed = @children.select { |child| child.due && Guildhall::Clock.now > child.due }.map(&:number)
        say.call("owed", *owed) if owed.any?
      end
    end)
    events.subscribe("app.quiet") { say.call("quiet") }
  RUBY

  # What a test sees of it.
  class Swarm
    attr_reader :lines, :pid

    def initialize(io, limit)
      @io = io
      @pid = io.pid
      @limit = limit
      @lines = []
    end

    # Reads until a line matches that was not returned before.
    # @return [MatchData]
    def wait_for(pattern)
      Timeout.timeout(@limit, nil, "no #{pattern.inspect} in #{@lines}") do
        loop do
          line = @io.gets or raise "it has ended: #{@lines}"
          @lines << line.chomp
          match = pattern.match(line.chomp) and return match
        end
      end
    end

    # @return [Array<Integer>] the processes' ids
    def children(count = 2)
      Array.new(count) { Integer(wait_for(/\Arunning (\d+)/)[1]) }
    end

    def signal(name, pid = @pid) = Process.kill(name, pid)

    # @return [Integer] the exit status
    def finish
      Timeout.timeout(@limit) { @lines.concat(@io.read.lines(chomp: true)) }
      @io.close
      $?.exitstatus
    end
  end

  def swarm(application = "", options = "{processes: 2}")
    IO.popen([RbConfig.ruby, "-e", PROGRAM, application, options], err: %i[child out]) do |io|
      yield(@swarm = Swarm.new(io, LIMIT))
    ensure
      # Its processes notice that it is gone.
      Process.kill(:KILL, io.pid) unless io.closed?
    end
  end

  # Connections of others get their ports from the system, which gives out higher ones: nobody takes these meanwhile.
  # @return [Integer] the first of some ports in a row that are free
  def free_ports(count)
    (20_000...30_000).step(count).to_a.shuffle.find do |first|
      (first...(first + count)).each { |port| TCPServer.open("127.0.0.1", port).close }
    rescue Errno::EADDRINUSE
      nil
    end
  end

  def gone?(pid)
    Process.kill(0, pid)
    false
  rescue Errno::ESRCH
    true
  end

  def test_each_of_the_stopping_signals_stops_all_in_order
    %i[TERM INT QUIT HUP].each do |signal|
      swarm do |swarm|
        pids = swarm.children
        refute_includes pids, swarm.pid
        swarm.signal(signal)
        assert_equal 0, swarm.finish
        assert_equal [*pids, swarm.pid].sort, swarm.lines.grep(/\Astopped/).map { |line| Integer(line.split.last) }.sort
        assert_equal 2, swarm.lines.grep(/\Aended \d exit 0/).size
      end
    end
  end

  def test_signals_that_reach_parent_and_processes_are_one_stop
    swarm do |swarm|
      pids = swarm.children
      pids.each { |pid| swarm.signal(:TERM, pid) }
      swarm.signal(:TERM)
      assert_equal 0, swarm.finish
    end
  end

  def test_a_process_that_is_killed_is_replaced
    swarm do |swarm|
      first = swarm.children.first
      swarm.signal(:KILL, first)
      assert_match(/SIGKILL/, swarm.wait_for(/\Aended .*/)[0])
      another = swarm.children(1).first
      refute_equal first, another
      swarm.signal(:TERM)
      assert_equal 0, swarm.finish
    end
  end

  def test_processes_that_end_while_the_swarm_is_quiet_are_replaced_when_it_goes_on
    [1, 2].each do |count|
      swarm(OWED, "{processes: #{count}}") do |swarm|
        pids = swarm.children(count)
        swarm.signal(:TSTP)
        count.times { swarm.wait_for(/\Aquiet/) }
        pids.each { |pid| swarm.signal(:KILL, pid) }
        3.times { swarm.wait_for(/\Aowed #{[*1..count].join(" ")}\z/) }
        assert_equal count, swarm.lines.grep(/\Astarted/).size
        swarm.signal(:CONT)
        assert_equal count, swarm.children(count).size
        assert_empty swarm.lines.grep(/\Areplaces/)
        swarm.signal(:TERM)
        assert_equal 0, swarm.finish
      end
    end
  end

  def test_a_process_that_is_due_when_the_swarm_becomes_quiet_is_started_when_it_goes_on
    swarm(OWED + 'events.subscribe("swarm.process_restarting") { Process.kill(:TSTP, Process.pid) }', "{processes: 1}") do |swarm|
      swarm.signal(:KILL, swarm.children(1).first)
      3.times { swarm.wait_for(/\Aowed 1\z/) }
      assert_equal 1, swarm.lines.grep(/\Astarted/).size
      swarm.signal(:CONT)
      swarm.children(1)
      swarm.signal(:TERM)
      assert_equal 0, swarm.finish
    end
  end

  # Each process waits, before it handles signals, until the parent has been told.
  JUST_FORKED = <<~'RUBY'
    told = ENV.fetch("TOLD")
    Guildhall::Kafka::Swarm::Worker.prepend(Module.new do
      define_method(:run) do |*arguments|
        say.call("forked", Process.pid)
        sleep(0.01) until File.exist?(told)
        super(*arguments)
      end
    end)
    Guildhall::Kafka::Swarm.prepend(Module.new { define_method(:handle) { |signal| super(signal).tap { File.write(told, signal) } } })
    events.subscribe("app.quiet") { say.call("quiet", Process.pid) }
    events.subscribe("app.resumed") { say.call("resumed", Process.pid) }
  RUBY

  def test_a_process_that_was_just_forked_becomes_quiet
    Dir.mktmpdir do |folder|
      ENV["TOLD"] = File.join(folder, "told")
      swarm(JUST_FORKED) do |swarm|
        pids = Array.new(2) { Integer(swarm.wait_for(/\Aforked (\d+)/)[1]) }
        swarm.signal(:TSTP)
        assert_equal pids.sort, Array.new(2) { Integer(swarm.wait_for(/\Aquiet (\d+)/)[1]) }.sort
        swarm.signal(:CONT)
        assert_equal pids.sort, Array.new(2) { Integer(swarm.wait_for(/\Aresumed (\d+)/)[1]) }.sort
        swarm.signal(:TERM)
        assert_equal 0, swarm.finish
      end
    ensure
      ENV.delete("TOLD")
    end
  end

  # SIGCONT continues a suspended process (SIGSTOP) as well.
  def test_a_process_that_is_suspended_goes_on
    events = %w[quiet resumed].map { |name| "events.subscribe('app.#{name}') { say.call('#{name}', Process.pid) };" }
    swarm(events.join, "{processes: 1}") do |swarm|
      pid = swarm.children(1).first
      swarm.signal(:TSTP)
      swarm.wait_for(/\Aquiet #{pid}/)
      swarm.signal(:STOP, pid)
      swarm.signal(:CONT)
      swarm.wait_for(/\Aresumed #{pid}/)
      swarm.signal(:TERM)
      assert_equal 0, swarm.finish
    end
  end

  def test_a_quiet_swarm_without_processes_stops
    swarm(OWED, "{processes: 1}") do |swarm|
      pid = swarm.children(1).first
      swarm.signal(:TSTP)
      swarm.wait_for(/\Aquiet/)
      swarm.signal(:KILL, pid)
      swarm.wait_for(/\Aowed/)
      swarm.signal(:TERM)
      assert_equal 0, swarm.finish
    end
  end

  def test_a_process_without_a_heartbeat_is_replaced
    swarm("", "{processes: 2, silence: 2}") do |swarm|
      swarm.signal(:STOP, swarm.children.first)
      assert_match(/no heartbeat for [\d.]+ s/, swarm.wait_for(/\Areplaces .*/)[0])
      assert_match(/SIGKILL/, swarm.wait_for(/\Aended .*/)[0])
      swarm.children(1)
      swarm.signal(:TERM)
      assert_equal 0, swarm.finish
    end
  end

  def test_a_process_that_is_not_alive_is_replaced_in_order
    application = <<~'RUBY'
      events.subscribe("app.running") do
        next if File.exist?(ENV.fetch("ONCE"))

        Guildhall::Kafka::Health.define_method(:stalled) { [Guildhall::Kafka::Health::Problem.new(code: :stalled, text: "t/0 is stalled")] }
        File.write(ENV.fetch("ONCE"), "")
      end
    RUBY
    Dir.mktmpdir do |folder|
      ENV["ONCE"] = File.join(folder, "once")
      swarm(application, "{processes: 1}") do |swarm|
        swarm.children(1)
        assert_equal "replaces 1 it is not alive: t/0 is stalled", swarm.wait_for(/\Areplaces .*/)[0]
        assert_equal "ended 1 exit 0", swarm.wait_for(/\Aended .*/)[0]
        swarm.children(1)
        swarm.signal(:TERM)
        assert_equal 0, swarm.finish
      end
    end
  ensure
    ENV.delete("ONCE")
  end

  def test_a_process_with_too_much_memory_is_replaced
    application = 'events.subscribe("swarm.forked") { |event| $big = "x" * 250_000_000 if event.payload[:number] == 1 && !$again }
                   events.subscribe("swarm.process_stopping") { $again = true }'
    swarm(application, "{processes: 2, memory_limit: 200}") do |swarm|
      assert_match(/\Areplaces 1 it has \d+ MB of memory, and the limit is 200/, swarm.wait_for(/\Areplaces .*/)[0])
      assert_equal "ended 1 exit 0", swarm.wait_for(/\Aended .*/)[0]
      swarm.wait_for(/\Astarted 1/)
      swarm.children(1)
      swarm.signal(:TERM)
      assert_equal 0, swarm.finish
    end
  end

  def test_options_that_mean_nothing_are_refused
    error = assert_raises(Guildhall::ArgumentError) do
      Guildhall::Kafka::Swarm.new(Guildhall::Kafka::Application.new, processes: 0, memory_limit: 1i, silence: "5")
    end
    assert_equal "swarm: processes must be an Integer ≥ 1, or nil, not 0; memory_limit must be a number > 0 (MiB), or nil, not (0+1i); " \
                 "silence must be a finite number > 0 (seconds), not \"5\"", error.message
  end

  def test_a_memory_limit_that_the_application_alone_exceeds
    swarm("", "{memory_limit: 5}") do |swarm|
      assert_equal 1, swarm.finish
      assert_match(/memory limit 5 MB: the application alone takes \d+ MB/, swarm.lines.join)
    end
  end

  def test_processes_stop_in_order_when_the_parent_is_killed
    swarm do |swarm|
      pids = swarm.children
      swarm.signal(:KILL)
      assert_nil swarm.finish
      assert_equal pids.sort, swarm.lines.grep(/\Astopped/).map { |line| Integer(line.split.last) }.sort
      eventually(LIMIT) { pids.all? { |pid| gone?(pid) } }
    end
  end

  def test_a_second_signal_ends_all_at_once
    hangs = 'events.subscribe("swarm.forked") { events.subscribe("app.stopping") { say.call("stopping") && sleep } }'
    swarm(hangs, "{processes: 1}") do |swarm|
      swarm.children(1)
      swarm.signal(:TERM)
      swarm.wait_for(/\Astopping/)
      sleep(1.1) # longer than signals count as one
      swarm.signal(:INT)
      swarm.wait_for(/a second signal: the process ends now/)
      assert_equal 1, swarm.finish
      assert_includes swarm.lines, "ended 1 exit 1"
    end
  end

  def test_settings_are_checked_before_anything_is_forked
    swarm("Guildhall::Kafka.config.concurency = 3") do |swarm|
      assert_equal 1, swarm.finish
      assert_includes swarm.lines.join, "unknown setting concurency; did you mean concurrency?"
      assert_empty swarm.lines.grep(/\Astarted/)
    end
  end

  def test_errors_that_are_no_configuration_errors_keep_their_reason
    swarm('Guildhall::Kafka.application.define_singleton_method(:check!) { |**| raise Guildhall::Kafka::KafkaError.of(-195, "why") }') do |swarm|
      assert_equal 1, swarm.finish
      assert_match(/ConfigurationError.*why|why.*ConfigurationError/, swarm.lines.join)
    end
  end

  # A round of the parent's loop takes at most 0.2 s.
  def test_the_parent_looks_at_memory_and_tells_systemd_when_that_is_due_and_not_in_each_round
    looks = []
    swarm = Guildhall::Kafka::Swarm.new(Guildhall::Kafka::Application.new, processes: 2, memory_limit: 5_000)
    swarm.instance_variable_get(:@children).each { |child| child.define_singleton_method(:memory) { (looks << number) && nil } }
    systemd = Object.new.tap { |one| one.define_singleton_method(:tell) { (looks << :systemd) && 600 } }
    IO.pipe do |wake, _|
      {wake:, signals: Thread::Queue.new, systemd:}.each { |name, value| swarm.instance_variable_set(:"@#{name}", value) }
      3.times { swarm.send(:supervise) }
    end
    assert_equal [1, 2, :systemd], looks
  end

  def test_what_no_process_can_start_with_ends_it
    port = free_ports(2)
    TCPServer.open("127.0.0.1", port + 1) do
      swarm("Guildhall::Kafka.config.health = {port: #{port}, host: '127.0.0.1'}", "{processes: 1}") do |swarm|
        assert_equal 78, swarm.finish
        assert_empty swarm.lines.grep(/\Arunning/)
      end
    end
  end

  def test_what_systemd_needs_is_named_as_such
    application = <<~'RUBY'
      ENV["NOTIFY_SOCKET"] = "/nowhere"
      Object.prepend(Module.new { def require(name) = name == "sd_notify" ? raise(LoadError, "no") : super })
    RUBY
    swarm(application) do |swarm|
      assert_equal 1, swarm.finish
      assert_match(/a unit of systemd with Type=notify needs the gem sd_notify/, swarm.lines.join)
      refute_match(/config\.health/, swarm.lines.join)
    end
  end

  def test_probes_for_all
    port = free_ports(3)
    swarm("Guildhall::Kafka.config.health = {port: #{port}, host: '127.0.0.1'}") do |swarm|
      swarm.children
      # Once each has said how it is.
      eventually(LIMIT) { get(port, "/ready").last.scan("no partitions are assigned").size == 2 }
      assert_equal %W[200 ok\n], get(port, "/live")
      status, text = get(port + 2, "/ready")
      assert_equal ["503", "group guildhall: no partitions are assigned"], [status, text.lines(chomp: true).first]
      swarm.signal(:TERM)
      assert_equal 0, swarm.finish
    end
  end

  def test_each_process_has_a_name_of_its_own_in_the_group_and_its_share_of_workers
    application = <<~'RUBY'
      events.subscribe("app.running") do
        topic = Guildhall::Kafka.application.routes.topics.first
        names = [1, 2].map { |number| Guildhall::Kafka.application.client_settings(topic, number)[:"group.instance.id"] }
        say.call("names", *names, Guildhall::Kafka.application.workers)
      end
    RUBY
    swarm(application) do |swarm|
      names = Array.new(2) { swarm.wait_for(/\Anames (.*) [1-9]\d*\z/)[1] }
      assert_equal ["a-1 a-1-2", "a-2 a-2-2"], names.sort
      swarm.signal(:TERM)
      assert_equal 0, swarm.finish
    end
  end

  def test_signals_of_the_application_and_of_the_server_are_passed_on
    swarm('trap("USR1") { say.call("usr1", Process.pid) }; events.subscribe("app.quiet") { say.call("quiet", Process.pid) }') do |swarm|
      pids = swarm.children
      swarm.signal(:USR2) # nobody has asked for it
      swarm.signal(:USR1)
      assert_equal pids.sort, Array.new(2) { Integer(swarm.wait_for(/\Ausr1 (\d+)/)[1]) }.sort
      swarm.signal(:TSTP)
      assert_equal pids.sort, Array.new(2) { Integer(swarm.wait_for(/\Aquiet (\d+)/)[1]) }.sort
      swarm.signal(:TTIN)
      swarm.wait_for(/in flight: 0 of/)
      swarm.signal(:TERM)
      assert_equal 0, swarm.finish
    end
  end

  def test_signals_that_come_just_after_the_fork_are_obeyed
    swarm('events.subscribe("swarm.forked") { Process.kill(:TSTP, Process.pid) }; events.subscribe("app.quiet") { say.call("quiet") }', "{processes: 1}") do |swarm|
      swarm.wait_for(/\Aquiet/)
      swarm.signal(:TERM)
      assert_equal 0, swarm.finish
    end
  end

  def test_an_application_that_has_started_a_ractor_is_refused
    swarm("Warning[:experimental] = false; $ractor = Ractor.new { Ractor.receive }") do |swarm|
      assert_equal 1, swarm.finish
      assert_match(/the application has started a Ractor while it was loaded/, swarm.lines.join)
    end
  end

  private

  def get(port, path)
    response = Net::HTTP.get_response("127.0.0.1", path, port)
    [response.code, response.body]
  rescue SystemCallError
    ["", ""]
  end
end
