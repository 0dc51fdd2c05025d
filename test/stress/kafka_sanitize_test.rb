# frozen_string_literal: true

require "test_helper"

# Scenarios of Kafka with both extensions built under the address and undefined-behaviour sanitizers. Leaks are not looked
# for: Ruby frees nothing at its end.
class KafkaSanitizeTest < GuildhallTest
  SCENARIOS = %w[bad_payloads filtering lag schema_registry dead_letters virtual_partitions].freeze
  BUILD = {"GUILDHALL_SANITIZE" => "address,undefined"}.freeze
  OPTIONS = {"ASAN_OPTIONS" => "detect_leaks=0:abort_on_error=1:handle_segv=0:use_sigaltstack=0"}.freeze

  def setup
    out, err, status = run_command(["bin/setup"], timeout: 590, env: BUILD.merge("RUBY" => RbConfig.ruby))
    assert_predicate status, :success?, "#{out}\n#{err}"
  end

  def test_scenarios
    libraries = %w[asan ubsan].map { |name| IO.popen(["gcc", "-print-file-name=lib#{name}.so"], &:read).strip }
    skip "no sanitizers here" unless libraries.all? { |path| File.exist?(path) }
    SCENARIOS.each do |name|
      command = ["env", "LD_PRELOAD=#{libraries.join(" ")}", RbConfig.ruby, "test/integration/scenarios/#{name}.rb"]
      out, err, status = run_command(command, env: OPTIONS.merge("RUBYLIB" => sanitized_path))
      assert_predicate status, :success?, "#{name}: #{status}\n#{out}\n#{err}"
      refute_match(/ERROR: AddressSanitizer|runtime error:/, err, name)
    end
  end

  private

  def sanitized_path
    ENV.fetch("RUBYLIB").split(":").map { |path| path.end_with?("/lib") && path.include?("/build/") ? sanitized(path) : path }.join(":")
  end

  def sanitized(path)
    folder = "#{File.dirname(path)}-address,undefined/lib"
    assert_path_exists "#{folder}/guildhall/kafka/native.so"
    folder
  end
end
