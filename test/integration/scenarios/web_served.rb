# frozen_string_literal: true

# broker: real (the embedded one describes neither topics nor groups)
#
# Proves that the dashboard is served by Puma's processes that were forked from one which has already asked the brokers (preload_app!), below
# a path, and that they end when they are told to.
require_relative "../support/scenario"
require "net/http"

Scenario.run do
  name = topic(partitions: 2)
  produce(name, Array.new(10) { |id| {payload: JSON.generate(id:), partition: id % 2} })
  folder = Dir.mktmpdir
  File.write(File.join(folder, "config.ru"), <<~RUBY)
    require "guildhall/web"
    require "rack/mock_request"
    Guildhall::Kafka.configure { |config| config.kafka = {"bootstrap.servers": ENV.fetch("KAFKA_BOOTSTRAP_SERVERS")} }
    dashboard = Guildhall::Web.new(authorize: ->(*) { true })
    %w[/topics /groups /topics/#{name}/messages].each { |path| Rack::MockRequest.new(dashboard).get(path).status == 200 or abort(path) }
    map("/guildhall") { run dashboard }
    map("/process") { run ->(_) { GC.start; [200, {}, [Process.pid.to_s]] } }
  RUBY
  File.write(File.join(folder, "puma.rb"), <<~RUBY)
    workers 2
    threads 2, 2
    preload_app!
    bind "tcp://127.0.0.1:0"
    log_requests false
  RUBY
  log = File.join(folder, "log")
  puma = "load Gem.bin_path('puma', 'puma')"
  pid = spawn(RbConfig.ruby, "-W0", "-e", puma, "--", "-C", "puma.rb", "config.ru", chdir: folder, %i[out err] => log)
  said = -> { File.read(log) }
  eventually(-> { "Puma: #{said.call}" }) { said.call.scan("booted").size == 2 }
  port = Integer(said.call[/127\.0\.0\.1:(\d+)/, 1])
  get = ->(path) { Net::HTTP.get_response(URI("http://127.0.0.1:#{port}#{path}")) }
  processes = []
  eventually("both have answered") do
    %W[/topics /groups /topics/#{name}/messages /topics/#{name}/0/1 /].each do |path|
      response = get.call("/guildhall#{path}")
      equal("200", response.code, "#{path}: #{response.body}")
      check(response.body.include?('href="/guildhall/'), path)
    end
    processes |= [get.call("/process").body]
    processes.size == 2
  end
  Process.kill(:TERM, pid)
  eventually(-> { "Puma ends: #{said.call}" }) { Process.wait(pid, Process::WNOHANG) }
  pid = nil
ensure
  pid && Process.kill(:KILL, pid) && Process.wait(pid)
  FileUtils.rm_rf(folder) if folder
end
