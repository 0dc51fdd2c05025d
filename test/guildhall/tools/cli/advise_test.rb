# frozen_string_literal: true

require "test_helper"
require "guildhall/tools/cli"
require "json"
require "tmpdir"

class CLIAdviseTest < GuildhallTest
  TASK = "module Echo\n  def self.call(text) = text\nend\n"

  def test_files_lines_and_a_page
    Dir.mktmpdir do |folder|
      write(folder)
      status, out, = advise(folder, "--payloads", "payloads.ndjson", "--task", "echo.rb:Echo", "--json", "--html", "advice.html", "--workers", "1")
      assert_equal [1, "too_small"], [status, ::JSON.parse(out)["reason"]]
      assert_includes File.read(File.join(folder, "advice.html")), "</html>"
      File.write(File.join(folder, "payloads/nothing.json"), "")
      status, out, err = advise(folder, "--payloads", "payloads", "--task", "Guildhall::JSON.lazy", "--workers", "1")
      assert_equal 1, status
      assert_includes err, " with 2 payloads (empty files: 1); "
      assert_match(/payloads +2 \(too few to rely on/, out)
    end
  end

  # Also from workers.
  def test_what_the_task_prints
    Dir.mktmpdir do |folder|
      write(folder)
      File.write(File.join(folder, "loud.rb"), "module Loud\n  def self.call(text) = (puts(\"loud\", Ractor.main?); text)\nend\n")
      _, out, err = advise(folder, "--payloads", "payloads.ndjson", "--task", "loud.rb:Loud", "--json", "--workers", "1")
      assert_equal 2, ::JSON.parse(out)["payloads"], out
      %w[loud true false].each { |word| assert_includes err, word }
      assert_match(/\Aguildhall: measures loud.rb:Loud with 2 payloads; that takes about half a minute, .*\nloud/, err, "said before it begins")
    end
  end

  def test_wrong_use
    Dir.mktmpdir do |folder|
      write(folder)
      {["--payloads", "payloads"] => "--task is needed", ["--task", "echo.rb:Echo"] => "--payloads PATH or --topic NAME is needed",
       ["--task", "echo.rb:Echo", "--payloads", "empty.json"] => "no payloads in empty.json",
       ["--task", "echo.rb:Echo", "--payloads", "payloads", "--limit", "0"] => "--limit must be 1 to 2000, not 0",
       ["--task", "echo.rb:Echo", "--payloads", "payloads", "--workers", "0"] => "workers must be 1 to 256, not 0",
       ["--task", "echo.rb:Echo", "--payloads", "payloads", "--topic", "t"] => "--payloads and --topic are two sources: name one",
       ["--task", "echo.rb:Echo", "--payloads", "payloads", "--servers", "s:1"] => "--servers belongs to --topic",
       ["--task", "echo.rb:Echo", "--payloads", "payloads", "--html", "no/advice.html"] => "--html needs a file in a folder that exists",
       ["--task", "Guildhall::JSON.lzay", "--payloads", "payloads"] => "Guildhall::JSON could not be loaded: undefined method 'lzay'",
       ["--task", "Guildhall::JSON.new(1)", "--payloads", "payloads"] => "Guildhall::JSON.new(1) is not FILE:Constant",
       ["--task", "Guildhall::JSN", "--payloads", "payloads"] => "did you mean Guildhall::JSON?",
       ["--task", "echo.rb:Ecko", "--payloads", "payloads"] => "did you mean Echo?"}.each do |arguments, message|
        status, _, err = advise(folder, *arguments)
        assert_equal [2, true], [status, err.include?(message)], err
      end
    end
  end

  def test_a_topic
    require "guildhall/kafka"
    require "guildhall/kafka/testing"
    Guildhall::Kafka::Testing::EmbeddedBroker.start do |broker|
      %w[full empty].each { |name| broker.create_topic(name, partitions: 3) }
      produce(broker, [*["tombstone"] * 3, *"a".."z"])
      assert_equal [*"a".."z"], payloads("full", broker.bootstrap_servers).sort
      assert_equal 5, payloads("full", broker.bootstrap_servers, limit: 5).size
      {["empty", broker.bootstrap_servers] => "no payloads in the topic empty", ["full", "localhost:1"] => "no broker answers at localhost:1"}
        .each { |place, message| assert_includes assert_raises(Guildhall::ArgumentError) { payloads(*place) }.message, message }
    end
  end

  private

  def payloads(topic, servers, limit: 100) = Guildhall::Tools::CLI::Payloads.of_topic(topic, servers, limit:)

  def produce(broker, texts)
    producer = Rdkafka::Config.new("bootstrap.servers": broker.bootstrap_servers).producer
    texts.each_with_index.map { |text, index| producer.produce(topic: "full", partition: index % 3, key: "k", payload: text == "tombstone" ? nil : text) }
      .each { |handle| handle.wait(max_wait_timeout_ms: 30_000) }
  ensure
    producer.close
  end

  def write(folder)
    File.write(File.join(folder, "echo.rb"), TASK)
    File.write(File.join(folder, "empty.json"), "")
    File.write(File.join(folder, "payloads.ndjson"), "{\"a\": 1}\n\n{\"a\": 2}\n")
    FileUtils.mkdir_p(File.join(folder, "payloads"))
    2.times { |number| File.write(File.join(folder, "payloads/#{number}.json"), "{}") }
  end

  def advise(folder, *arguments)
    command = File.join(WarningsRaise::ROOT, "exe/guildhall")
    out, err, status = run_forked(["guildhall/cli"], command, "advise", "--quick", *arguments, chdir: folder)
    [status.exitstatus, out, err]
  end
end
