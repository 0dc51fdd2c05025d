# frozen_string_literal: true

require "test_helper"
require "guildhall/cli"
require "guildhall/kafka"
require "guildhall/web"
require "rack/builder"
require "rack/mock_request"
require "psych"
require "shellwords"
require "openssl"
require "support/guide"

# What the pages on deploying and operating tell supervisors and people: names, paths, numbers and options are those of the code.
class DeployingTest < GuildhallTest
  def self.apart? = true

  DEPLOYING = File.read(File.join(Guide::ROOT, "docs/kafka_deploying.md"))
  OPERATING = File.read(File.join(Guide::ROOT, "docs/kafka_operating.md"))
  PORT = 9292

  DASHBOARD = File.read(File.join(Guide::ROOT, "docs/web.md"))

  # The block of a language below a heading.
  def block(heading, language) = DEPLOYING[/^## #{heading}\n.*?^```#{language}\n(.*?)^```$/m, 1]

  def shutdown_timeout = Guildhall::Kafka::Config.new.shutdown_timeout

  def unit = block("systemd", "ini").lines.filter_map { |line| line.chomp.split("=", 2) if line.match?(/\A\w+=/) }

  def container = Psych.load(block("Kubernetes", "yaml")).dig("spec", "template", "spec").then { |pod| [pod, pod["containers"].first] }

  def test_yaml_is_valid
    blocks = Guide.all.flat_map { |guide| File.read(File.join(Guide::ROOT, guide.name)).scan(/^```ya?ml\n(.*?)^```$/m).flatten }
    assert_operator blocks.size, :>=, 3
    blocks.each { |yaml| assert_kind_of Hash, Psych.safe_load(yaml, aliases: true) }
  end

  # Who has no name, or one of another domain, is let in nowhere, whatever the proxy passes on.
  def test_the_dashboard_behind_a_proxy_with_single_sign_on
    code = DASHBOARD[/^<!-- file: config.ru -->\n```ruby\n(.*?)^```$/m, 1].sub(/^require_relative .*\n/, "")
    ENV["GUILDHALL_WEB_KEY"] = "k" * 32
    page = Rack::MockRequest.new(Rack::Builder.new { instance_eval(code) }.to_app)
    header = "HTTP_#{DASHBOARD[/proxy_set_header (X-\S+) \$email;/, 1].upcase.tr("-", "_")}"
    statuses = {nil => 403, "" => 403, "eve@evil.example" => 403, "ada@shop.example" => 404}
    assert_equal statuses, statuses.to_h { |name, _| [name, page.get("/guildhall/nothing", {header => name}.compact).status] }
    assert_equal 404, page.get("/", header => "ada@shop.example").status
  ensure
    ENV.delete("GUILDHALL_WEB_KEY")
  end

  def test_supervisors_wait_for_longer_than_the_stop_may_take
    pod, = container
    kamal = Psych.load(block("Kamal", "yaml")).dig("servers", "consumer", "stop_timeout")
    waits = [pod["terminationGracePeriodSeconds"], kamal, unit.to_h["TimeoutStopSec"].to_i, block("Docker", "sh")[/--stop-timeout (\d+)/, 1].to_i]
    assert_equal [true] * 4, waits.map { |seconds| seconds > shutdown_timeout }, waits.inspect
    assert_operator block("Heroku", "ruby")[/shutdown_timeout = (\d+)/, 1].to_i, :<, 30 # which is Heroku's
  end

  def test_status_that_another_try_does_not_help_are_ours
    assert_equal "2 #{Guildhall::ConfigurationError::EXIT_STATUS}", unit.to_h["RestartPreventExitStatus"]
  end

  # By a server that answers.
  def test_probes_ask_for_paths_and_ports_that_there_are
    _, container = container()
    probes = container.select { |name, _| name.end_with?("Probe") }
    assert_equal %w[livenessProbe readinessProbe startupProbe], probes.keys.sort
    assert_equal "/live", probes.dig("startupProbe", "httpGet", "path"), "a broker that is down must not get pods killed"
    assert_equal [PORT], container["ports"].map { |port| port["containerPort"] }
    assert_equal ["health"], probes.values.map { |probe| probe.dig("httpGet", "port") }.uniq & container["ports"].map { |port| port["name"] }
    assert_includes DEPLOYING, "ENV.fetch(\"GUILDHALL_HEALTH_PORT\", \"#{PORT}\")"
    server = Guildhall::Kafka::Probes.new({host: "127.0.0.1", port: 0}, Guildhall::Kafka::Health.new(Guildhall::Kafka::Application.new)).start
    answers = probes.values.map { |probe| status(server.port, probe.dig("httpGet", "path")) }
    assert_empty answers - %w[200 503]
    assert_equal "404", status(server.port, "/else")
  ensure
    server&.stop
  end

  def test_commands_have_the_options_that_the_pages_name
    wrong = commands.reject { |command, options| (options - known_options(command)).empty? }
    assert_empty wrong
    assert_operator commands.size, :>, 20
  end

  def test_metrics_of_the_pages_are_ours
    names = Guildhall::Kafka::Metrics::LIST.map(&:full_name)
    named = OPERATING.scan(/`(guildhall(?:\.[a-z_]+)+)`/).flatten.uniq
    assert_operator named.size, :>, 8
    assert_empty named - names
    queried = block("Kubernetes", "yaml") && DEPLOYING.scan(/(guildhall_[a-z_]+)\{/).flatten.uniq
    assert_empty queried - names.map { |name| name.tr(".", "_") }
    refute_empty queried
  end

  # As the add-on of Heroku gives them.
  def test_certificates_may_be_text
    key, certificate = texts
    application = Guildhall::Kafka::Application.new
    application.config.kafka = {"bootstrap.servers": "a.example:9096", "security.protocol": "ssl", "ssl.ca.pem": certificate,
                                "ssl.certificate.pem": certificate, "ssl.key.pem": key, "ssl.endpoint.identification.algorithm": "none"}
    application.routes.draw { topic("t") { consumer(Class.new(Guildhall::Kafka::Consumer) { def consume = nil }) } }
    assert_equal 1, application.validate!.size
    named = block("Heroku", "ruby").scan(/"((?:ssl|security)\.[a-z._]+)":/).flatten
    assert_empty named - application.config.kafka.keys.map(&:to_s)
  end

  private

  def status(port, path) = TCPSocket.open("127.0.0.1", port) { |socket| socket.write("GET #{path} HTTP/1.1\r\n\r\n") && socket.read[/ (\d{3}) /, 1] }

  def texts
    key = OpenSSL::PKey::EC.generate("prime256v1")
    certificate = OpenSSL::X509::Certificate.new
    certificate.version = 2
    certificate.serial = 1
    certificate.subject = certificate.issuer = OpenSSL::X509::Name.parse("/CN=test")
    certificate.public_key = key
    certificate.not_before = Time.now - 60
    certificate.not_after = Time.now + 3600
    certificate.sign(key, OpenSSL::Digest.new("SHA256"))
    [key.to_pem, certificate.to_pem]
  end

  # @return [Array<Array(Array<String>, Array<String>)>] command (with what may be the second word of one) and its options, of all that the
  #   pages write
  def commands
    written = [DEPLOYING, OPERATING].flat_map do |page|
      page.scan(/`[^`\n]*?(guildhall [a-z][^`\n]*)`/).flatten + page.scan(/^(?!#).*?["\s]guildhall["\s,]+((?:server|swarm|routes)\b.*)$/).flatten.map { |rest| "guildhall #{rest}" }
    end
    written.map do |line|
      words = line.tr('",[]', " ").split.drop(1)
      [words.first(2).grep_v(/\A-/), words.grep(/\A--?[a-z]/).map { |word| word[/\A--?[a-z-]+/] }]
    end.uniq
  end

  # Commands that are not there yet have no options to compare.
  def known_options(words)
    name, second = words
    return words_of_all if Guildhall::CLI.new.commands.none? { |command| command.command_name == name }

    help = [[name, second].compact, [name]].map { |arguments| help_of(arguments) }.join
    help.scan(/(?<![\w-])--?[a-z][a-z-]*/)
  end

  def words_of_all = [DEPLOYING, OPERATING].flat_map { |page| page.scan(/--?[a-z][a-z-]*/) }

  def help_of(arguments)
    out = StringIO.new
    Guildhall::CLI.new(out:, err: StringIO.new).run([*arguments, "--help"])
    out.string
  end
end
