# frozen_string_literal: true

require "test_helper"
require "tmpdir"
require "net/http"

# The main job as a user runs it, in a process of its own: on the embedded broker, and on a real one where there is one.
class DemoTest < GuildhallTest
  def self.apart? = true

  ROOT = File.expand_path("../..", __dir__)
  COMMAND = [RbConfig.ruby, File.join(ROOT, "examples/demo.rb")].freeze
  EMBEDDED = {"KAFKA_BOOTSTRAP_SERVERS" => nil}.freeze
  REAL = ENV.fetch("KAFKA_BOOTSTRAP_SERVERS", "")

  def test_accounts_for_every_message_on_the_embedded_broker
    assert_complete(EMBEDDED)
  end

  def test_accounts_for_every_message_on_a_real_broker
    skip("KAFKA_BOOTSTRAP_SERVERS is not set") if REAL.empty?
    assert_complete({})
  end

  def test_figures_for_programs
    out, err, status = run_command([*COMMAND, "--messages", "2000", "--json"], env: EMBEDDED)
    assert_predicate status, :success?, err
    figures = JSON.parse(out)
    assert_equal [2000, true, true, true], figures.values_at("sent", "accounted", "committed", "agrees")
    assert_operator figures.dig("guildhall", "messages_per_second"), :>, 0
    assert_equal figures.dig("guildhall", "processed"), figures.dig("by_hand", "processed")
  end

  def test_help_and_wrong_options
    out, _, status = run_command([*COMMAND, "--help"])
    assert_predicate status, :success?
    assert_includes out, "--messages N"
    _, err, status = run_command([*COMMAND, "--messages", "none"])
    assert_equal 2, status.exitstatus
    assert_includes err, "invalid argument: --messages none"
  end

  def test_the_dashboard_ends_with_it
    skip("KAFKA_BOOTSTRAP_SERVERS is not set") if REAL.empty?
    reader, writer = IO.pipe
    pid = spawn(*COMMAND, "--messages", "200", "--web", out: writer, err: writer)
    writer.close
    said = +"" # two processes say these, in any order
    said << (reader.gets || flunk(said)) until ["the dashboard stays until Ctrl-C", "the dashboard is at"].all? { |text| said.include?(text) }
    address = URI(said[%r{the dashboard is at (http://\S+)}, 1] || flunk(said))
    assert_equal "200", Net::HTTP.get_response(address + "/topics").code
    Process.kill(:INT, pid)
    assert_equal 0, Process.wait2(pid).last.exitstatus
    pid = nil
    assert_raises(SystemCallError) { Net::HTTP.get_response(address) }
  ensure
    Process.kill(:KILL, pid) && Process.wait(pid) if pid
    reader&.close
  end

  def test_the_dashboard_needs_a_broker
    _, err, status = run_command([*COMMAND, "--web"], env: EMBEDDED)
    assert_equal 2, status.exitstatus
    assert_includes err, "name one in KAFKA_BOOTSTRAP_SERVERS"
  end

  def test_a_broker_that_does_not_answer_is_named
    _, err, status = run_command([*COMMAND, "--messages", "100"], env: {"KAFKA_BOOTSTRAP_SERVERS" => "localhost:9"})
    assert_equal 1, status.exitstatus
    assert_includes err, "no broker answers at localhost:9"
  end

  def test_a_limit_in_seconds_ends_it
    out, err, status = run_command([*COMMAND, "--messages", "3000", "--seconds", "0.05"], env: EMBEDDED)
    assert_predicate status, :success?, err
    assert_includes err, "stopped after 0.05 s"
    assert_includes out, "no comparison"
  end

  def test_an_interrupt_ends_it_in_order
    Dir.mktmpdir do |folder|
      log = File.join(folder, "out")
      pid = spawn(EMBEDDED, *COMMAND, "--messages", "60000", out: log, err: %i[child out])
      eventually(60) { File.exist?(log) && File.read(log).include?("broker at") }
      sleep(1) # wherever it is by then
      Process.kill(:INT, pid)
      began = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      status = eventually(20) { Process.wait2(pid, Process::WNOHANG) }.last
      assert_operator Process.clock_gettime(Process::CLOCK_MONOTONIC) - began, :<, 6
      assert_equal 130, status.exitstatus, File.read(log)
    end
  end

  # Stopped at random moments and resumed with the same group: every message is handled, none twice.
  def test_stops_and_goes_on_without_loss_or_repetition
    skip("KAFKA_BOOTSTRAP_SERVERS is not set") if REAL.empty?
    Dir.mktmpdir do |folder|
      topic = "demo-test-#{Process.pid}-#{rand(1_000_000)}"
      all = File.join(folder, "all")
      assert_predicate run_demo("--topic", topic, "--group", "#{topic}-all", "--record", all), :success?
      parts = File.join(folder, "parts")
      resume(topic, parts)
      handled = File.readlines(parts)
      assert_equal handled.uniq.size, handled.size, "handled twice"
      assert_equal File.readlines(all).sort, handled.sort
    end
  end

  private

  MESSAGES = 5_000
  private_constant :MESSAGES

  def assert_complete(env)
    out, err, status = run_command([*COMMAND, "--messages", "4000"], env:)
    assert_predicate status, :success?, "#{out}\n#{err}"
    assert_match(/✓ \d+ \+ \d+ \+ 7 \+ 1 \(processed .*= 4000 of 4000 sent/, out)
    assert_includes out, "✓ offsets committed: 4000, the end of each partition"
    assert_includes out, "✓ both consumers counted the same"
    assert_match(/^Faster:  \d+\.\d times as many messages a second/, out)
    assert_includes out, "Lost:    nothing. All 4000 messages are accounted for"
    ["decode: ", "validate: "].each { |kind| assert_includes out, kind }
    assert_match(/partition \d+ offset \d+, byte \d+/, out)
  end

  def run_demo(*)
    out, err, status = run_command([*COMMAND, "--messages", MESSAGES.to_s, *])
    puts out, err unless status.success?
    status
  end

  # Interrupts run after run until one comes to the end.
  def resume(topic, record)
    60.times do |attempt|
      limit = attempt < 20 ? (rand * 0.3).to_s : "60"
      run_demo("--topic", topic, "--group", "#{topic}-parts", "--record", record, "--seconds", limit)
      return if attempt >= 20
    end
  end
end
