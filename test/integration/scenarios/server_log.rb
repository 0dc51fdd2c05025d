# frozen_string_literal: true

#
# Proves that `guildhall server` says by default, on standard output, what it consumes, what was assigned, each failure with
# its topic, partition, offset, attempt, class, message and place in the application, each retry with its pause, each dead
# dead letter, and the end; that `--log-format json` says the same as JSON; that QUIT and HUP stop it in order; that a stop that
# was too short names the partitions; and that a broker out of reach is reported in one line, with its address.
require_relative "../support/scenario"
require "open3"
require "tempfile"

APPLICATION = <<~'RUBY'
  class Failing < Guildhall::Kafka::Consumer
    def consume
      messages.each do |message|
        sleep if message.raw_payload == "hang"
        raise KeyError, "no price" if message.raw_payload == "bad"
      end
    end
  end
  Guildhall::Kafka.configure do |config|
    config.kafka = {"bootstrap.servers": ENV.fetch("SERVERS"), "auto.offset.reset": "earliest", "session.timeout.ms": 6_000}
    config.group_id = ENV.fetch("GROUP")
    config.pause_timeout = 0.05
    config.shutdown_timeout = Float(ENV.fetch("SHUTDOWN", "20"))
  end
  Guildhall::Kafka.routes do
    topic(ENV.fetch("TOPIC")) do
      consumer Failing
      dead_letter_queue topic: ENV.fetch("DEAD"), max_retries: 1
    end
  end
RUBY

Scenario.run do
  name = topic
  dead = topic(name: "dead")
  produce(name, [{payload: "good", partition: 0}, {payload: "bad", partition: 0}])
  file = Tempfile.create(["application", ".rb"]).tap { |one| one.write(APPLICATION) && one.close }
  environment = {"SERVERS" => servers, "GROUP" => group, "TOPIC" => name, "DEAD" => dead}
  # @return [Array(String, Integer, String)] what it wrote to standard output, its status, and what it wrote to standard error
  serve = lambda do |signal, *options, until_line:, **env|
    command = [RbConfig.ruby, "exe/guildhall", "server", "-r", file.path, *options]
    Open3.popen3({**environment, **env.transform_keys(&:to_s)}, *command, chdir: File.expand_path("../../..", __dir__)) do |input, out, err, process|
      input.close
      lines = Thread::Queue.new
      reading = Thread.new { out.each_line { |line| lines << line } }
      errors = Thread.new { err.read }
      seen = []
      eventually("a line with #{until_line.inspect}; there is #{seen.inspect}") do
        seen << lines.pop until lines.empty?
        seen.grep(until_line).any?
      end
      Process.kill(signal, process.pid)
      check(process.join(Scenario::LIMIT), "the server has not ended after #{signal}; there is #{seen.inspect}")
      status = process.value
      reading.join
      seen << lines.pop until lines.empty?
      [seen, status.exitstatus, errors.value]
    end
  end

  lines, status, errors = serve.call(:QUIT, until_line: /dead letter/)
  text = lines.join
  equal([0, ""], [status, errors], "status and standard error after QUIT")
  [
    / INFO  Guildhall [\d.]+ consumes #{name} as group #{group}; Ruby/, %r{ INFO  group #{group}: assigned #{name}/0$},
    %r{ ERROR consumer.consume failed at #{name}/0 .*offset=1 .*: KeyError: no price \(.*application.*\.rb:5:in .*consume},
    / ERROR consumer.consume failed .*attempt=1 /, %r{ WARN  retrying #{name}/0 from offset \d in \d+(\.\d)? s, after attempt 1$},
    %r{ WARN  dead letter: #{name}/0 offset 1 went to #{dead} because of KeyError$}, / INFO  stopping: work in progress may take up to (20|19(\.\d)?) s to finish$/,
    %r{ INFO  group #{group}: revoked #{name}/0$}, / INFO  stopped$/
  ].each { |line| check(text.match?(line), "no line #{line.inspect} in\n#{text}") }
  equal([2], committed(name), "committed")

  produce(name, [{payload: "bad", partition: 0}])
  lines, status, = serve.call(:HUP, "--log-format", "json", "--log-level", "warn", until_line: /dead_letter_queue.dispatched/)
  equal(0, status, "status after HUP")
  events = lines.map { |line| JSON.parse(line) }
  equal([], events.map { |event| event["level"] } - %w[WARN ERROR], "levels")
  error = events.find { |event| event["event"] == "error.occurred" && event["type"] == "consumer.consume" }
  equal([name, 0, 2, "KeyError", "no price"], [*error.values_at("topic", "partition", "offset"), *error["error"].values_at("class", "message")], "error")

  produce(name, [{payload: "hang", partition: 0}])
  _, status, errors = serve.call(:TERM, "--log-level", "debug", until_line: /assigned/, SHUTDOWN: "2")
  check(status.zero? || errors.include?("not all work was finished within the shutdown timeout: the process ends now; still at work: #{name}/0"), errors)
  notes << (status.zero? ? "stopped before it hung" : "named what hung")

  lines, = serve.call(:TERM, until_line: /cannot be reached/, SERVERS: "127.0.0.1:1")
  equal(1, lines.grep(/ERROR Kafka broker 127.0.0.1:1 cannot be reached: .*; check that a broker listens at bootstrap.servers, and the network between/).size, "lines")
  equal([], lines.grep(/rdkafka/i), "librdkafka's own lines")
ensure
  File.delete(file) if file
end
