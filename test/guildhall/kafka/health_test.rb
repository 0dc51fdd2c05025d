# frozen_string_literal: true

require "net/http"
require "socket"
require "tmpdir"
require "test_helper"
require "guildhall/kafka"
require "guildhall/kafka/testing"
require "guildhall/kafka/metrics/prometheus"
require "guildhall/cli/probe"
require "prometheus/client"

class HealthTest < GuildhallTest
  Listener = Struct.new(:group, :polled_at, :assigned, :leaving, :unanswered_for) do
    alias_method :assigned?, :assigned
    alias_method :leaving?, :leaving
    def answers = self
    def any? = unanswered_for.nil?
    def seconds = unanswered_for
  end
  Topic = Struct.new(:group)
  Partition = Struct.new(:group, :stall, :seconds_without_progress) do
    def topic = Topic.new(group)
    def name = "orders"
    def number = 0
    def to_s = "orders/0"

    # As {Guildhall::Kafka::Partition#overdue?} says it.
    attr_accessor :limit

    def overdue?(seconds) = !limit.nil? && !seconds.nil? && seconds > limit
  end
  Application = Struct.new(:config, :instrumentation, :state, :quiet, :failure, :listeners, :partitions, :registries, :outbox) do
    def error(error, type) = instrumentation.publish("error.occurred", error:, type:)
    def running? = state == :running
    def quiet? = quiet
    def members = listeners
  end

  def setup
    @listener = Listener.new("g", Guildhall::Clock.now, true)
    @partition = Partition.new("g")
    events = Guildhall::Instrumentation.new(Guildhall::Kafka::Events::NAMES)
    @application = Application.new(Guildhall::Kafka::Config.new, events, :running, false, nil, [@listener], [@partition])
    @health = Guildhall::Kafka::Health.new(@application)
  end

  def test_ready
    assert_predicate @health.ready, :ok?
    @listener.assigned = false
    assert_equal "group g: no partitions are assigned", @health.ready.to_s
    @application.quiet = true
    assert_equal "draining", @health.ready.to_s
    @application.quiet = false
    assert_equal(%w[draining stopped initialized], %i[stopping stopped initialized].map { |state| (@application.state = state) && @health.ready.to_s })
  end

  # A process that is restarted for it would not reach the broker either.
  def test_no_broker_answers
    @listener.unanswered_for = 7.4
    assert_equal "group g: no broker answers, for 7.4 s", @health.ready.to_s
    assert_predicate @health.live, :ok?
    @listener.assigned = false
    assert_equal "group g: no broker answers, for 7.4 s; group g: no partitions are assigned", @health.ready.to_s
    assert_predicate @health.live, :ok?
    @listener.leaving = true
    assert_equal "group g: no partitions are assigned", @health.ready.to_s
  end

  # Messages that need a schema wait for it; a restart would not help.
  def test_a_schema_registry_that_cannot_be_asked
    @application.registries = Struct.new(:problems).new(["schema registry http://r:8081: 401, for 7 s"])
    assert_equal "schema registry http://r:8081: 401, for 7 s", @health.ready.to_s
    assert_predicate @health.live, :ok?
  end

  # Its messages wait in the database; a restart would not help.
  def test_an_outbox_that_cannot_be_read
    @application.outbox = Struct.new(:problem).new("ActiveRecord::ConnectionNotEstablished: …")
    assert_equal [[:outbox, "outbox: ActiveRecord::ConnectionNotEstablished: …"]], @health.ready.problems.map { |one| [one.code, one.text] }
    assert_predicate @health.live, :ok?
    @application.outbox.problem = nil
    assert_predicate @health.ready, :ok?
  end

  def test_a_listener_that_does_not_poll
    assert_predicate @health.live, :ok?
    @listener.polled_at = Guildhall::Clock.now - 32 # it may be closing a client
    assert_predicate @health.live, :ok?
    @listener.polled_at = Guildhall::Clock.now - 100
    assert_equal "group g: not polled for 1m40s", @health.live.to_s
    @listener.leaving = true
    assert_predicate @health.live, :ok?
    @listener.leaving = false
    @application.state = :stopping
    assert_predicate @health.live, :ok?
  end

  def test_a_partition_that_does_not_move
    @partition.stall = stall(:seek)
    assert_predicate @health.live, :ok?
    @partition.stall = stall(:seek, :rejoin)
    assert_equal [[:stalled, "orders/0 is stalled"]], @health.live.problems.map { |one| [one.code, one.text] }
    @partition.stall = nil
    assert_predicate @health.live, :ok?
  end

  def test_a_partition_that_does_not_move_while_another_group_consumes_it
    @application.partitions << Partition.new("another")
    @partition.stall = stall(:seek, :rejoin)
    assert_equal "orders/0 is stalled", @health.live.to_s
  end

  # For programs: the guide has the list.
  def test_each_reason_has_a_code
    @application.failure = RuntimeError.new("fenced")
    @listener.polled_at = Guildhall::Clock.now - 100
    @partition.limit = 60
    @partition.seconds_without_progress = 61
    @listener.unanswered_for = 7
    @listener.assigned = false
    @application.registries = Struct.new(:problems).new(["schema registry http://r:8081: 401, for 7 s"])
    assert_equal [%i[failed not_polled overdue], %i[no_broker no_partitions registry]],
      [@health.live, @health.ready].map { |answer| answer.problems.map(&:code) }
    @application.state = :stopped
    assert_equal [:not_running], @health.ready.problems.map(&:code)
  end

  def test_a_consumer_that_does_not_return
    @partition.limit = 60
    @partition.seconds_without_progress = 59.9
    assert_predicate @health.live, :ok?
    @partition.seconds_without_progress = 61
    assert_equal "orders/0: at work for 1m01s without progress", @health.live.to_s
    @application.state = :stopping # which has a limit of its own
    assert_predicate @health.live, :ok?
    @application.state = :running
    @partition.limit = nil
    assert_predicate @health.live, :ok?
  end

  def test_a_group_that_cannot_be_consumed_any_more
    @application.failure = RuntimeError.new("fenced")
    assert_equal "failed: fenced", @health.live.to_s
  end

  # The report of a process, and its heartbeat to the parent of a swarm, are JSON.
  def test_reasons_are_valid_text_whatever_an_error_says
    @application.failure = RuntimeError.new("fenc\xE9d".b)
    assert_equal "failed: fenc\uFFFDd", Guildhall::JSON.decode(Guildhall::JSON.encode([@health.live.to_s])).first
  end

  def test_over_http
    prometheus = Guildhall::Kafka::Metrics::Prometheus.new(Prometheus::Client::Registry.new)
    with_server([prometheus]) do |port|
      assert_equal %W[200 ok\n], get(port, "/live")
      @application.state = :stopping
      assert_equal %W[503 draining\n], get(port, "/ready")
      assert_includes get(port, "/metrics").last, "# TYPE guildhall_consumed_messages_total counter"
      assert_equal "404", get(port, "/").first
      assert_equal [1, "draining\n", ""], probe("ready", "--port", port.to_s)
      assert_equal [0, "ok\n", ""], probe("--port", port.to_s)
    end
  end

  def test_the_server_opens_no_file
    files = -> { ObjectSpace.each_object(File).count { |file| !file.closed? && file.path == File::NULL } }
    before = files.call
    with_server([]) { assert_equal before, files.call }
  end

  def test_probe_without_an_answer
    free = TCPServer.open("127.0.0.1", 0) { |server| server.addr[1] }
    status, _, err = probe("live", "--port", free.to_s)
    assert_equal 1, status
    assert_match(/no answer from 127.0.0.1:#{free}/, err)
    TCPServer.open("127.0.0.1", 0) do |mute|
      assert_equal 1, probe("--port", mute.addr[1].to_s, "--timeout", "0.05").first
    end
  end

  def test_probe_with_wrong_arguments
    [%w[alive], %w[live more], %w[--port], %w[--port x], %w[--timeout soon]].each { |arguments| assert_equal 2, probe(*arguments).first }
    assert_equal 0, probe("--help").first
  end

  def test_the_command_loads_nothing_else
    out, = run_command([RbConfig.ruby, "--disable=gems", "-e", <<~'RUBY'], env: {"RUBYOPT" => nil})
      ARGV.replace(%w[probe --help])
      at_exit { puts $LOADED_FEATURES.grep(/guildhall|rubygems|optparse/) }
      load "exe/guildhall"
    RUBY
    assert_equal %w[guildhall/cli/probe.rb], out.lines.grep(%r{^/}) { |path| path.chomp[%r{guildhall/[^/]+/[^/]+\z}] }
  end

  def test_settings
    [[{port: 9292}, nil], [{port: 1, token: "0123456789abcdef"}, nil],
     [{port: 1, token: "short"}, /\Ahealth token must be a String of 16 characters or more, without spaces\z/], [{port: 1, token: ""}, /token must be/], [{host: "::1"}, /port must be an Integer/], [{port: 1, prt: 2}, /unknown setting prt; did you mean port/],
     [9292, /must be a Hash with port/]].each do |health, problem|
      errors = Guildhall::Kafka::Config::Problems.new
      Guildhall::Kafka::Config.new.tap { |config| config.health = health }.validate(errors)
      found = errors.to_a.grep(/health/)
      problem ? assert_match(problem, found.join) : assert_empty(found)
    end
  end

  def test_systemd
    Dir.mktmpdir do |folder|
      socket = Socket.new(:UNIX, :DGRAM).tap { |one| one.bind(Addrinfo.unix(File.join(folder, "notify"))) }
      with_environment("NOTIFY_SOCKET" => File.join(folder, "notify"), "WATCHDOG_USEC" => "100000") do
        @application.quiet = true
        systemd = Guildhall::Kafka::Systemd.new(@application, @health).start
        refute socket.wait_readable(0.3)
        @application.quiet = false
        assert_equal "READY=1", (socket.wait_readable(60) && socket.recv(100))
        assert_equal "WATCHDOG=1", (socket.wait_readable(60) && socket.recv(100))
        @application.instrumentation.publish("app.stopping", timeout: 1)
        assert_includes Array.new(3) { socket.wait_readable(60) && socket.recv(100) }, "STOPPING=1"
      ensure
        systemd&.stop
        socket.close
      end
    end
  end

  # Nor does it end the thread that feeds the watchdog, or the parent of a swarm.
  def test_systemd_that_does_not_answer_is_told_again
    errors = []
    @application.instrumentation.subscribe("error.occurred") { |event| errors << event.payload }
    Dir.mktmpdir do |folder|
      with_environment("NOTIFY_SOCKET" => File.join(folder, "notify"), "WATCHDOG_USEC" => "100000") do
        systemd = Guildhall::Kafka::Systemd.new(@application, @health)
        assert_equal [0.2] * 2, Array.new(2) { systemd.tell }
        assert_equal [["systemd", SdNotify::NotifyError]], errors.map { |one| [one[:type], one[:error].class] }
        socket = Socket.new(:UNIX, :DGRAM).tap { |one| one.bind(Addrinfo.unix(File.join(folder, "notify"))) }
        assert_in_delta 0.05, systemd.tell
        assert_equal %w[READY=1 WATCHDOG=1], Array.new(2) { socket.wait_readable(60) && socket.recv(100) }
        socket.close
        File.unlink(File.join(folder, "notify"))
        assert_in_delta 0.05, systemd.tell
        assert_equal 2, errors.size
      end
    end
  end

  # Systemd ends the process then, and the log says why.
  def test_systemd_health_that_raises_is_reported_and_asked_again
    errors = Thread::Queue.new
    @application.instrumentation.subscribe("error.occurred") { |event| errors << event.payload[:error].message }
    Dir.mktmpdir do |folder|
      socket = Socket.new(:UNIX, :DGRAM).tap { |one| one.bind(Addrinfo.unix(File.join(folder, "notify"))) }
      with_environment("NOTIFY_SOCKET" => File.join(folder, "notify"), "WATCHDOG_USEC" => "100000") do
        raising = true
        @health.define_singleton_method(:live) { raising ? raise(NotImplementedError, "no answer") : super() }
        systemd = Guildhall::Kafka::Systemd.new(@application, @health).start
        assert_equal "no answer", errors.pop(timeout: 60)
        raising = false
        assert_equal %w[READY=1 WATCHDOG=1], Array.new(2) { socket.wait_readable(60) && socket.recv(100) }
        assert_empty errors
      ensure
        systemd&.stop
        socket.close
      end
    end
  end

  private

  def stall(*tried) = Guildhall::Kafka::Partition::Stall.new(position: 7, since: 0.0, tried:)

  def with_server(metrics = [])
    server = Guildhall::Kafka::Probes.new({port: 0, host: "127.0.0.1"}, @health, metrics).start
    yield server.port
  ensure
    server&.stop
  end

  def get(port, path)
    response = Net::HTTP.get_response("127.0.0.1", path, port)
    [response.code, response.body]
  end

  def probe(*arguments)
    out = StringIO.new
    err = StringIO.new
    [Guildhall::CLI::Probe.new(out:, err:).run(arguments), out.string, err.string]
  end

  def with_environment(values)
    before = values.keys.to_h { |name| [name, ENV.fetch(name, nil)] }
    ENV.update(values)
    yield
  ensure
    ENV.update(before)
  end
end
