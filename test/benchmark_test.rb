# frozen_string_literal: true

require "test_helper"
require "json"
require "tmpdir"
require_relative "../benchmark/support/bench"
require_relative "../benchmark/support/suite"

# What bin/bench does besides measuring.
class BenchmarkTest < GuildhallTest
  RUN = File.join(WarningsRaise::ROOT, "benchmark/run.rb")

  def test_wrong_use
    {["jsn"] => "no benchmark jsn; did you mean json?", ["--report", "jsn"] => "no benchmark jsn; did you mean json?",
     ["--report", "json", "--only", "json.decode"] => "unknown --only; there are --quick and --page",
     %w[talk patern] => "no table patern; did you mean patterns?", ["talk", "--json"] => "unknown --json; there are --quick",
     ["--chart", "no.jsonl"] => "no file no.jsonl", ["disabled", "--quik"] => "disabled: unknown --quik", ["disabled", "--only"] => "disabled: --only needs names of rows",
     ["disabled", "--quick", "--only", "disabled.c"] => "disabled: no row disabled.c"}.each do |arguments, message|
      out, err, status = bench(*arguments)
      assert_equal [2, true], [status, err.include?(message)], "#{arguments}: #{status} #{out} #{err}"
    end
  end

  # A row may print several, each with a name of its own: "leaks.10 idle threads, GC".
  def test_what_only_names
    bench = Bench.new(only: ["leaks.10 idle threads", "kafka.*.5KB"], out: StringIO.new)
    names = ["leaks.10 idle threads", "leaks.10 idle threads, GC", "leaks.100 idle threads, GC", "leaks.10", "kafka.hash.5KB", "kafka.hash.1KB"]
    assert_equal names.values_at(0, 1, 3, 4), names.select { |name| bench.wanted?(name) }
  end

  def test_help
    assert_match(%r{usage: bin/bench NAME.*json}, bench("--help").first)
    assert_match(/What a batch costs more/, bench("disabled", "--help").first)
  end

  def test_a_table_that_needs_a_broker
    out, err, status = bench("kafka_best")
    assert_equal ["", 1], [out, status]
    assert_match(/needs a real broker; KAFKA_BOOTSTRAP_SERVERS/, err)
  end

  ROW = %q(puts '{"row": "x.a", "against": "b", "ratio": 1.5}'; $stdout.flush)

  def test_rows_of_a_script_that_fails_are_kept_and_marked
    suite("#{ROW}\nraise ArgumentError, 'wrong results'") do |suite, err, taken|
      assert_equal ["x"], suite.failed
      assert_match(/x failed: .*wrong results \(ArgumentError\)/, err)
      assert_match(/wrong results/, taken.fetch(0).cut)
      assert_equal ["x.a"], taken.fetch(0).rows.map { |row| row["row"] }
    end
  end

  def test_a_script_that_ends_well
    suite(ROW) { |suite, _, taken| assert_equal [[], nil], [suite.failed, taken.fetch(0).cut] }
  end

  private

  def bench(*arguments)
    out, err, status = run_command([RbConfig.ruby, RUN, *arguments], env: {"KAFKA_BOOTSTRAP_SERVERS" => ""})
    [out, err, status.exitstatus]
  end

  # @yield [suite, what it warned of, what it kept]
  def suite(script)
    Dir.mktmpdir do |folder|
      run = File.join(folder, "run.rb")
      File.write(run, script)
      suite = Bench::Suite.new(["x"], ["--quick"], run:, folder:)
      _, err = capture_io { suite.run }
      yield(suite, err, Bench::Results.all(folder:))
    end
  end
end
