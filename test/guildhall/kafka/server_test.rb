# frozen_string_literal: true

require "socket"
require "tmpdir"
require "test_helper"
require "guildhall/json"
require "guildhall/kafka"

# Runs a server of an application that consumes nothing; what it does it writes down.
class KafkaServerTest < GuildhallTest
  PROGRAM = <<~'RUBY'
    require "guildhall/kafka"
    $stdout.sync = true
    ignored = ENV.fetch("IGNORED", "").split
    # What is ignored, as by a job in the background, stays so.
    %w[INT TERM QUIT HUP].each { |name| trap(name, ignored.include?(name) ? "IGNORE" : "DEFAULT") }
    # Stops at once, or late.
    class Application
      attr_reader :failure, :unfinished, :partitions
      attr_writer :own_process

      def initialize(stop) = (@stop, @unfinished, @partitions = stop, ["t/0"], [])
      def config
        Guildhall::Kafka::Config.new.tap do |config|
          config.shutdown_timeout = 30
          config.health = {port: 0, host: "127.0.0.1"} if @stop == "watched"
        end
      end

      def instrumentation = Guildhall::Instrumentation.new(Guildhall::Kafka::Events::NAMES)
      def state = :running
      def running? = true
      def quiet? = false
      def members = []
      def listeners = []
      def registries = nil
      def outbox = nil
      def on_failure(&block) = @on_failure = block
      def on_stop_asked(&block) = @on_stop_asked = block
      def backpressure = Struct.new(:messages, :max_messages, :bytes, :max_bytes).new(1, 2, 3, 4)
      def quiet = puts("quiet")
      def resume = puts("resumed")
      def open_log = nil
      def publish(name, **payload) = puts("#{name} #{payload}")

      def format_line(...)
        format = ENV.fetch("FORMAT", "text")
        log = Guildhall::Kafka::Logging::Log.new(Guildhall::Kafka::Config.new)
        log.default = Guildhall::Kafka::Logging.logger($stdout, format:)
        log.format_line(...)
      end

      def start(**)
        puts "started"
        @on_stop_asked.call if @stop == "asked"
        return unless @stop == "failed"

        @failure = "fenced"
        @on_failure.call
      end

      def stop
        puts "stopping"
        sleep(@stop == "soon" ? 1 : nil) if %w[late soon].include?(@stop)
        @stop != "unfinished"
      end
    end
    server = Guildhall::Kafka::Server.new(Application.new(ARGV[0]))
    Thread.new { ARGV.drop(1).each { |method| server.public_send(method) } } # as the parent of a swarm does
    exit(server.run)
  RUBY

  BURST = 1.1 # longer than signals count as one

  # @param steps [Array<(Symbol, String | #call)>] a signal, and the line that it is sent after, or what blocks until then; :later: INT, when
  #   it is no part of a burst
  # @param asked [Array<Symbol>] methods of the server that are called
  # @param env [Hash{String=>String}]
  # @return [Array(Integer, String)] its exit status and what it wrote
  def serve(stop, *steps, asked: [], env: {})
    out = +""
    IO.popen([env, RbConfig.ruby, "-e", PROGRAM, stop, *asked.map(&:to_s)], err: %i[child out]) do |io|
      Timeout.timeout(60) do
        steps.each do |signal, line|
          out << io.gets until line.respond_to?(:call) ? line.call : out.include?(line)
          sleep(BURST) if signal == :later
          Process.kill(signal == :later ? :INT : signal, io.pid)
        end
        out << io.read
      end
    rescue Timeout::Error
      Process.kill(:KILL, io.pid)
    end
    [$?.exitstatus, out]
  end

  def test_each_of_the_stopping_signals_stops_in_order
    %i[INT TERM QUIT HUP].each { |signal| assert_equal [0, "started\nstopping\n"], serve("at once", [signal, "started"]) }
  end

  def test_quiet_and_a_dump_end_nothing
    status, out = serve("at once", [:TSTP, "started"], [:TTIN, "quiet"], [:TERM, "in flight: 1 of 2 messages, 3 of 4 bytes"])
    assert_equal 0, status
    assert_match(/Thread.*run/, out)
  end

  def test_quiet_can_be_taken_back
    assert_equal [0, "started\nquiet\nresumed\nstopping\n"], serve("at once", [:TSTP, "started"], [:CONT, "quiet"], [:TERM, "resumed"])
  end

  # Ruby runs the handlers of signals that wait together in the order of their numbers, whichever has come first: here they come while
  # another handler runs. TTIN has the highest number.
  def test_quiet_and_its_end_that_wait_together_end_resumed
    signals = %w[TSTP CONT TTIN]
    signals.permutation.each do |sent|
      seen = Thread::Queue.new
      previous = Guildhall::Kafka::Server::Signals.trap(signals) { |name| seen << name }
      previous["USR2"] = trap("USR2") { sent.each { |name| Process.kill(name, Process.pid) } }
      Process.kill(:USR2, Process.pid)
      heard = []
      heard << seen.pop(timeout: 60) until heard.last == "TTIN"
      assert_equal %w[CONT TTIN], heard.last(2), sent
    ensure
      Guildhall::Kafka::Server::Signals.restore(previous)
    end
  end

  def test_quiet_that_comes_later_than_its_end_counts
    seen = Thread::Queue.new
    previous = Guildhall::Kafka::Server::Signals.trap(%w[TSTP CONT]) { |name| seen << name }
    Process.kill(:CONT, Process.pid)
    assert_equal "CONT", seen.pop(timeout: 60)
    sleep(0.2)
    Process.kill(:TSTP, Process.pid)
    assert_equal "TSTP", seen.pop(timeout: 60)
  ensure
    Guildhall::Kafka::Server::Signals.restore(previous)
  end

  # An operator who sends one of them would wait for nothing.
  def test_signals_that_the_parent_has_left_ignored_are_named
    status, out = serve("at once", [:INT, "started"], [:TERM, "started"], env: {"IGNORED" => "INT QUIT"})
    assert_equal 0, status
    assert_equal %(signals.ignored {signals: ["INT", "QUIT"]}\nstarted\nstopping\n), out
  end

  def test_where_the_log_is_json_everything_is
    json = {"FORMAT" => "json"}
    _, out = serve("unfinished", [:TTIN, "started"], [:TERM, "in flight"], env: json)
    dump, rest = out.lines.grep(/\A\{/).map { |line| Guildhall::JSON.decode(line) }
    assert_equal %w[started stopping], out.lines.grep_v(/\A\{/).map(&:chomp)
    assert_equal "INFO", dump["level"]
    assert_match(/\A#<Thread.*^in flight: 1 of 2 messages/m, dump["message"])
    assert_equal "guildhall: not all work was finished within the shutdown timeout: the process ends now; still at work: t/0", rest["message"]
  end

  # Over HTTP and by systemd, each in a thread of its own.
  def test_it_tells_those_that_watch_it
    Dir.mktmpdir do |folder|
      path = File.join(folder, "notify")
      socket = Socket.new(:UNIX, :DGRAM).tap { |one| one.bind(Addrinfo.unix(path)) }
      told = -> { socket.wait_readable(60) }
      status, out = serve("watched", [:TTIN, told], [:TERM, "in flight"], env: {"NOTIFY_SOCKET" => path, "WATCHDOG_USEC" => "60000000"})
      assert_equal 0, status, out
      assert_match(/guildhall health/, out)
      assert_match(/guildhall systemd/, out)
      assert_equal "READY=1", socket.recv_nonblock(100)
    ensure
      socket&.close
    end
  end

  # In this process.
  def test_a_watcher_that_cannot_be_stopped_does_not_keep_the_others
    events = []
    application = Guildhall::Kafka::Application.new
    application.define_singleton_method(:start) { |**| events << :started }
    application.define_singleton_method(:error) { |error, type| events << [type, error.message] }
    application.config.logger = nil
    server = Guildhall::Kafka::Server.new(application, warm_up: false, signals: Thread::Queue.new.push(:stop))
    watchers = [-> { raise "no" }, -> { events << :stopped }].map { |stop| Struct.new(:block) { def stop = block.call }.new(stop) }
    server.define_singleton_method(:start_watchers) { @watchers.concat(watchers) }
    assert_equal 0, server.run
    assert_equal [:started, %w[server no], :stopped], events
  end

  def test_a_failure_ends_it_with_status_1
    assert_equal [1, "started\nstopping\n"], serve("failed")
  end

  def test_a_command_to_stop_ends_it_in_order
    assert_equal [0, "started\nstopping\n"], serve("asked")
  end

  def test_work_that_was_not_finished_is_named
    status, out = serve("unfinished", [:TERM, "started"])
    assert_equal 1, status
    assert_includes out, "not all work was finished within the shutdown timeout: the process ends now; still at work: t/0"
  end

  def test_a_second_signal_ends_it_at_once
    status, out = serve("late", [:TERM, "started"], [:later, "stopping"])
    assert_equal 1, status
    assert_includes out, "a second signal: the process ends now"
  end

  # `timeout` signals a process and then its group; foreman (bin/dev) sends TERM behind Ctrl-C.
  def test_two_signals_at_once_are_one_request
    status, out = serve("soon", [:INT, "started"], [:TERM, "started"], [:INT, "stopping"])
    assert_equal 0, status, out
  end

  def test_it_can_be_asked_to_stop_and_asking_again_changes_nothing
    assert_equal [0, "started\nstopping\n"], serve("at once", asked: %i[stop_soon stop_soon])
  end

  def test_a_signal_after_having_been_asked_is_the_first_one
    status, out = serve("late", [:TERM, "stopping"], [:TTIN, "stopping"], [:later, "in flight"], asked: %i[stop_soon])
    assert_equal 1, status
    assert_includes out, "a second signal: the process ends now"
  end

  def test_it_can_be_asked_to_end_at_once
    status, out = serve("late", asked: %i[stop_soon end_now])
    assert_equal 1, status
    assert_includes out, "the process ends now"
  end
end
