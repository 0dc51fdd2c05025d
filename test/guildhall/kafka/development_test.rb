# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"
require "guildhall/kafka/development"
require "guildhall/json"
require "stringio"

class DevelopmentTest < GuildhallTest
  SHOWN = "#<Guildhall::Kafka::Broker::TopicMessages of orders: first(5), last(5), where(\"$.total > 5\"), each>"
  USER = <<~'RUBY'
    require "guildhall/kafka"
    out = StringIO.new
    Guildhall::Kafka.config.kafka = {"bootstrap.servers": Guildhall::Kafka::Development.broker(folder: ARGV[0], idle_seconds: 1, out:)}
    Guildhall::Kafka.config.logger = nil
    Guildhall::Kafka.routes { topic("orders") { deserializer Guildhall::JSON } }
    case ARGV[1]
    when "produce"
      5.times { |number| Guildhall::Kafka.producer.produce_sync(topic: "orders", payload: {"id" => number}, key: "k#{number % 2}", timestamp: Time.at(1_700_000_000 + number)) }
      Guildhall::Kafka.producer.close
      puts out.string
      $stdout.flush
      $stdin.gets
    else
      messages = Guildhall::Kafka.messages("orders")
      p messages.last(2).map { |message| message.payload["id"] }, messages.last.key, messages.first(5).size, messages.count,
        messages.where("$.id > 2").map { |message| message.payload["id"] }.sort, messages
    end
  RUBY

  # The one that has started it goes on after its first user's end, and ends after its last one's.
  def test_processes_of_a_folder_share_a_broker_that_ends_after_them
    for_folder do |folder|
      producer = IO.popen([RbConfig.ruby, "-rstringio", "-e", USER, folder, "produce"], "r+")
      said = producer.gets
      assert_match(/\Aguildhall: no broker is set: an embedded one for this folder runs at 127\.0\.0\.1:\d+ \(pid \d+\)/, said)
      assert_equal ["[3, 4]", '"k0"', "5", "5", "[3, 4]", SHOWN],
        assert_ruby(USER, folder, "read", options: ["-rstringio"]).lines(chomp: true)
      producer.puts
      pid = said[/pid (\d+)/, 1].to_i
      eventually { !alive?(pid) }
    ensure
      producer&.close
    end
  end

  # One that was stopped (Ctrl-Z, a debugger): its socket takes connections, and nobody reads them.
  def test_a_process_that_has_the_broker_and_does_not_answer
    for_folder do |folder|
      socket = File.join(folder, "s")
      UNIXServer.open(socket) do |server|
        error = assert_raises(Guildhall::Kafka::EmbeddedBrokerError) { Guildhall::Kafka::Development::Remote.new(socket, seconds: 0.1) }
        assert_match(/\Athe broker for development has not answered for 0\.1 s: .*lsof #{Regexp.escape(socket)} names it/, error.message)
        server.accept.close
        answering = Thread.new { server.accept.tap { |one| one.puts("127.0.0.1:1 7") } }
        remote = Guildhall::Kafka::Development::Remote.new(socket, seconds: 0.1)
        assert_match(/has not answered/, assert_raises(Guildhall::Kafka::EmbeddedBrokerError) { remote.create_topic("orders") }.message)
      ensure
        answering&.value&.close
      end
    end
  end

  # librdkafka would look for a topic that comes later only after minutes.
  def test_an_application_that_starts_before_its_topics_are_there_consumes_them
    for_folder do |folder|
      assert_equal "5", assert_ruby(<<~'RUBY', folder, options: ["-rstringio"])
        require "guildhall/kafka"
        servers = Guildhall::Kafka::Development.broker(folder: ARGV[0], idle_seconds: 1, out: StringIO.new)
        seen = Thread::Queue.new
        Guildhall::Kafka.configure do |config|
          config.kafka = {"bootstrap.servers": servers}
          config.group_id = "g"
          config.logger = nil
        end
        Guildhall::Kafka.routes do
          topic("orders") do
            initial_offset :earliest
            consumer(Class.new(Guildhall::Kafka::Consumer) { define_method(:consume) { messages.each { |message| seen << message.raw_payload } } })
          end
        end
        assigned = Thread::Queue.new
        Guildhall::Kafka.instrumentation.subscribe("rebalance.partitions_assigned") { |event| assigned << event if event.payload[:partitions].any? }
        Guildhall::Kafka.start
        assigned.pop(timeout: 60) or abort "nothing is assigned"
        Guildhall::Kafka.producer.produce_sync(topic: "orders", payload: "5")
        print seen.pop(timeout: 60)
        Guildhall::Kafka.stop
      RUBY
    end
  end

  def test_the_broker_creates_topics_for_other_processes
    for_folder do |folder|
      servers = Guildhall::Kafka::Development.broker(folder:, idle_seconds: 1, out: StringIO.new)
      assert_same servers, Guildhall::Kafka::Development.broker(folder:)
      servers.broker.create_topic("orders", partitions: 3)
      assert_match(/orders was not created/, assert_raises(Guildhall::Kafka::EmbeddedBrokerError) { servers.broker.create_topic("orders") }.message)
      pid = servers.broker.pid.to_i
      servers.broker.close
      eventually { !alive?(pid) }
    end
  end

  # A shell, or a test, that reads the output of the process that has started it would wait for the broker's end.
  def test_the_broker_holds_nobodys_output
    for_folder do |folder|
      said = assert_ruby(<<~'RUBY', folder)
        require "guildhall/kafka"
        Guildhall::Kafka::Development.broker(folder: ARGV[0], idle_seconds: 30, out: $stdout)
      RUBY
      pid = said[/pid (\d+)/, 1].to_i
      assert alive?(pid)
    ensure
      Process.kill(:KILL, pid) if pid
    end
  end

  # Others may have made it first, to read along or to lead elsewhere.
  def test_the_folder_for_sockets_has_to_be_ones_own
    Dir.mktmpdir do |folder|
      home = File.join(folder, "guildhall-#{Process.euid}")
      Dir.mkdir("#{folder}/elsewhere", 0o700)
      readable = -> { Dir.mkdir(home) && File.chmod(0o755, home) }
      link = -> { File.symlink("#{folder}/elsewhere", home) }
      file = -> { File.write(home, "", perm: 0o600) }
      [readable, link, file].each do |make|
        make.call
        out, err, = run_ruby(<<~'RUBY', folder, env: {"TMPDIR" => folder})
          require "guildhall/kafka"
          puts Guildhall::Kafka::Development.send(:path, ARGV[0])
        RUBY
        assert_empty out
        assert_match(/#{home} must be a directory that belongs to you, with mode 0700: remove it, or set TMPDIR .*EmbeddedBrokerError/, err)
        FileUtils.rm_r(home)
      end
    end
  end

  def test_a_folder_that_no_socket_can_be_made_in
    Dir.mktmpdir do |folder|
      long = File.join(folder, "x" * 120)
      other = File.join(folder, "other")
      [long, other].each { |name| Dir.mkdir(name) }
      program = 'require "guildhall/kafka"; Guildhall::Kafka::Development.broker(folder: ARGV[0])'
      _, err, = run_ruby(program, folder, env: {"TMPDIR" => long})
      assert_match(/needs a directory with room, whose path is short, .*: set TMPDIR to one, .* \(too long .*EmbeddedBrokerError/, err)
      FileUtils.mkdir_p("#{other}/guildhall-#{Process.euid}", mode: 0o700)
      path, = run_ruby('require "guildhall/kafka"; print Guildhall::Kafka::Development.send(:path, ARGV[0])', folder, env: {"TMPDIR" => other})
      Dir.mkdir("#{path}.lock")
      out, err, = run_ruby(program, folder, env: {"TMPDIR" => other})
      assert_match(/set TMPDIR to one, .*\(Is a directory .*EmbeddedBrokerError/, err)
      assert_empty out
    end
  end

  def test_a_broker_that_ends_while_it_starts_is_not_waited_for
    for_folder do |folder|
      error = assert_raises(Guildhall::Kafka::EmbeddedBrokerError) { Guildhall::Kafka::Development.broker(folder:, idle_seconds: "soon") }
      assert_match(/\Athe broker for development ended before it was ready \(pid \d+ exit 1\)/, error.message)
    end
  end

  # Its first user may be slow, and no line of a user ends it.
  def test_a_host_waits_for_its_first_user_and_bears_with_each
    hosted(0) do |path, created, host|
      eventually { host.stop? }
      remote = Guildhall::Kafka::Development::Remote.new(path)
      other = UNIXSocket.new(path)
      assert_equal "127.0.0.1:9 #{Process.pid}", other.gets.chomp
      answers = ["", "orders", "orders many", "or ders 2", "refused 1", "\xFF"].map do |line|
        other.puts(line)
        other.gets.chomp
      end
      assert_equal ["ok", "not now"], answers.values_at(3, 4)
      answers.values_at(0, 1, 2, 5).each { |answer| assert_match(/invalid/, answer) }
      other.close
      remote.create_topic("orders", partitions: 3)
      assert_equal [["or ders", 2], ["orders", 3]], created
      remote.close
      assert host.join(60)
      refute_path_exists path
    end
  end

  # Of one connection, each would read the other's answers.
  def test_a_forked_process_has_a_connection_of_its_own
    listening do |server, path|
      accept = lambda do
        assert_equal [[server], [], []], IO.select([server, *@accepted], nil, nil, 60)
        server.accept.tap { |socket| (@accepted << socket).last.puts("127.0.0.1:9 7") }
      end
      first = Thread.new(&accept)
      remote = Guildhall::Kafka::Development::Remote.new(path)
      first.join
      pid = fork do
        remote.create_topic("orders")
        exit!(0)
      rescue Exception # rubocop:disable Lint/RescueException -- nothing of the test runs on in it
        exit!(1)
      end
      begin
        socket = accept.call
        assert_equal "orders 1", socket.gets.chomp
        socket.puts("ok")
        assert_predicate Process.wait2(pid).tap { pid = nil }.last, :success?
      ensure
        Process.kill(:KILL, pid) && Process.wait(pid) if pid
        remote.close
      end
    end
  end

  def test_a_broker_that_has_just_ended_is_none
    listening do |server, path|
      ending = Thread.new { server.accept.close }
      assert_raises(Errno::ECONNREFUSED, Errno::ECONNRESET) { Guildhall::Kafka::Development::Remote.new(path) }
      ending.join
    end
  end

  private

  # What processes of that folder leave behind for the next ones goes with it.
  def for_folder
    Dir.mktmpdir do |folder|
      yield folder
    ensure
      FileUtils.rm_f(%w[lock sock].map { |name| "#{Guildhall::Kafka::Development.send(:path, folder)}.#{name}" })
    end
  end

  def hosted(idle_seconds)
    Dir.mktmpdir do |folder|
      created = []
      broker = Object.new
      broker.define_singleton_method(:bootstrap_servers) { "127.0.0.1:9" }
      broker.define_singleton_method(:create_topic) do |name, partitions:|
        raise Guildhall::Kafka::EmbeddedBrokerError, "not\nnow" if name == "refused"

        created << [name, partitions]
      end
      host = Guildhall::Kafka::Development::Host.new(broker, "#{folder}/sock", idle_seconds)
      server = host.instance_variable_get(:@server)
      thread = Thread.new { host.serve }
      yield "#{folder}/sock", created, thread
    ensure
      thread&.kill&.join
      server&.close
    end
  end

  def listening
    Dir.mktmpdir do |folder|
      @accepted = []
      UNIXServer.open("#{folder}/sock") { |server| yield server, "#{folder}/sock" }
    ensure
      @accepted.each(&:close)
    end
  end

  # The first process of a container may reap nobody.
  def alive?(pid)
    Process.kill(0, pid)
    stat = "/proc/#{pid}/stat"
    !(File.exist?(stat) && File.read(stat).match?(/\) Z /))
  rescue Errno::ESRCH, Errno::ENOENT
    false
  end
end
