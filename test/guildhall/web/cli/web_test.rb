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

  def test_an_error_does_not_show_the_code_and_localhost_has_a_port
    command = command(bind: "localhost", port: 0)
    server = command.send(:server, ->(_) {})
    assert_operator command.send(:listen, server), :>, 0
    assert_equal [500, {}, [""]], server.lowlevel_error(KeyError.new("secret"), {})
  ensure
    server&.binder&.close
  end
end
