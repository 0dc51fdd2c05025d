# frozen_string_literal: true

require "test_helper"
require "guildhall/web"
require "guildhall/web/cli"

# What `guildhall web` lets in; test/integration/scenarios/web.rb starts it.
class WebCommandTest < GuildhallTest
  def command(**options) = Guildhall::Web::CLI::Web.allocate.tap { |command| command.instance_variable_set(:@options, options) }

  def allowed?(command, host, action = :read)
    !!command.send(:authorize).call(Rack::Request.new({"HTTP_HOST" => host, "HTTP_X_FORWARDED_HOST" => "localhost"}.compact), action, nil)
  end

  def test_on_this_machine_it_answers_to_this_machines_names_only
    ["localhost", "localhost:9393", "127.0.0.1:9393", "[::1]:9393"].each { |host| assert allowed?(command, host, :payload), host }
    ["evil.example", "evil.example:9393", "10.0.0.1", "", nil].each { |host| refute allowed?(command, host), host.inspect }
  end

  def test_elsewhere_it_answers_to_any_name
    assert allowed?(command(user: "ada", bind: "0.0.0.0"), "kafka.example", :payload)
    assert allowed?(command(user: "ada"), "kafka.example")
    open = command(open: true, bind: "0.0.0.0")
    assert allowed?(open, "kafka.example")
    refute allowed?(open, "kafka.example", :payload)
  end

  def test_what_is_hidden
    command = Guildhall::Web::CLI::Web.allocate
    options = OptionParser.new
    command.instance_variable_set(:@options, {})
    command.send(:define_options, options)
    options.parse(%w[--hide $.card --hide key --hide headers.authorization])
    assert_equal %w[$.card key headers.authorization], command.send(:hidden)
  end

  # Each page would say it, else.
  def test_wrong_settings_end_it_at_once
    Dir.mktmpdir do |directory|
      File.write(application = File.join(directory, "app.rb"), <<~RUBY)
        Guildhall::Kafka.config.kafka = {"bootstrap.servers": "127.0.0.1:1"}
        Guildhall::Kafka.config.group_id = "shop"
        Guildhall::Kafka.config.commands = {public_key: nil}
        Guildhall::Kafka.routes { topic("orders") { consumer(Class.new(Guildhall::Kafka::Consumer) { def consume = nil }) } }
      RUBY
      _, err, status = Open3.capture3(RbConfig.ruby, File.expand_path("../../../../exe/guildhall", __dir__), "web", "--port", "0", "-r", application)
      assert_equal 78, status.exitstatus, err
      assert_match(/commands needs a public_key/, err)
    end
  end

  # A request waits for brokers that have taken the connection, and say nothing.
  def test_the_second_signal_ends_it_at_once
    brokers = TCPServer.new("127.0.0.1", 0)
    reader, writer = IO.pipe
    command = [RbConfig.ruby, File.expand_path("../../../../exe/guildhall", __dir__), "web", "--port", "0", "--brokers", "127.0.0.1:#{brokers.addr[1]}"]
    pid = Process.spawn(*command, err: writer)
    writer.close
    port = Integer(reader.gets[%r{:(\d+)/}, 1])
    page = TCPSocket.new("127.0.0.1", port)
    page.write("GET /topics HTTP/1.1\r\nHost: localhost\r\n\r\n")
    brokers.accept
    Process.kill(:INT, pid)
    refute page.wait_readable(1), "the page still waits"
    Process.kill(:TERM, pid)
    _, status = Process.wait2(pid)
    pid = nil
    assert_equal Signal.list.fetch("TERM"), status.termsig
  ensure
    Process.kill(:KILL, pid) && Process.wait(pid) if pid
    [brokers, reader, page].each { |io| io&.close }
  end

  def test_what_cannot_be_taken_back_is_left_to_another_command
    assert allowed?(command, "localhost", :replay)
    refute allowed?(command, "localhost", :delete_records)
    error = assert_raises(Guildhall::ArgumentError) { command(open: true, actions: true).send(:refuse_settings) }
    assert_includes error.message, "leave out --actions"
  end

  def test_who_did_what_is_said_on_standard_error_unless_the_application_has_a_log
    order = Guildhall::Web::Order.new(id: "1", by: "ada", action: :discard, target: "dead", expect: nil, why: nil)
    said = [nil, StringIO.new].map do |own|
      Guildhall::Kafka.reset
      Guildhall::Kafka.config.logger = Logger.new(own) if own
      command = command().tap { |one| one.instance_variable_set(:@err, @err = StringIO.new) }
      command.send(:watch_brokers)
      Guildhall::Web.new.audit(order, "5 are discarded")
      [@err.string, own&.string]
    end
    line = /WARN.*dashboard: ada asked for discard of dead: 5 are discarded$/
    assert_match(line, said.first.first)
    assert_equal "", said.last.first
    assert_match(line, said.last.last)
  ensure
    Guildhall::Kafka.reset
  end

  def test_an_error_does_not_show_the_code_and_localhost_has_a_port
    command = command(bind: "localhost", port: 0)
    server = command.send(:server, ->(_) {})
    assert_operator command.send(:listen, server), :>, 0
    assert_equal [500, {}, [""]], server.lowlevel_error(KeyError.new("secret"), {})
  ensure
    server&.binder&.close
  end
end
