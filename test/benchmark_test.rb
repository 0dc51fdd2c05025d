# frozen_string_literal: true

require "test_helper"
require "json"
require "tmpdir"
require_relative "../benchmark/support/bench"
require_relative "../benchmark/support/report"

# What bin/bench does besides measuring.
class BenchmarkTest < GuildhallTest
  RUN = File.join(WarningsRaise::ROOT, "benchmark/run.rb")

  def test_wrong_use
    {["jsn"] => "no benchmark jsn; did you mean json?", ["--report", "jsn"] => "no benchmark jsn; did you mean json?",
     ["--report", "json", "--only", "json.decode"] => "unknown --only; there are --quick and --page",
     %w[talk patern] => "no table patern; did you mean patterns?", ["talk", "--json"] => "unknown --json; there are --quick",
     ["disabled", "--quik"] => "disabled: unknown --quik", ["disabled", "--only"] => "disabled: --only needs names of rows",
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

  # benchmark/results is the only source: after a measurement, bin/rake figures writes all of these.
  def test_what_shows_figures_shows_those_of_the_results
    assert_empty Bench::Report.new([]).stale.keys, "bin/rake figures"
  end

  def test_no_figure_of_speed_is_written_by_hand
    assert_empty Bench::Figures.all_by_hand, "put it into a table of benchmark/support/figures.rb, or say it in words"
  end

  def test_a_figure_of_no_result_is_refused
    table = Bench::Figures::Table.new(rows: {"decode" => ["json.gone", "JSON.parse"]})
    error = assert_raises(KeyError) { Bench::Figures.new(tables: {"gone" => table}).fill("<!-- figures: gone -->\n<!-- end of figures -->") }
    assert_equal "benchmark/results has nothing for json.gone × JSON.parse", error.message
    ["4.7 × `JSON.parse`", "is 3 times as fast", "8 % faster", "4,000 messages a second"].each { |text| assert_equal [text], Bench::Figures.by_hand(text) }
    assert_empty Bench::Figures.by_hand("<!-- figures: json -->\n| 4.7 × |\n<!-- end of figures -->\ntwo fetches of 50 ms, twice a second")
  end

  def test_cells_say_both_ways_and_the_caption_says_where_and_when
    results = {"plain" => "no YJIT", "yjit" => "YJIT"}.map do |way, said|
      rows = {"plain" => {"x.a" => 1.26}, "yjit" => {"x.a" => 12.4, "x.c" => 0.5}}[way].map { |row, ratio| {"row" => row, "against" => "b", "ratio" => ratio} }
      Bench::Results::Taken.new(name: "x", machine: "Ruby 9 (#{said}), 2 cores; a remark", date: "2026-11-23 08:00", quick: false, cut: nil, rows:)
    end
    table = Bench::Figures::Table.new(columns: %w[a c d], rows: {"ours" => ["x.%s", "b"]})
    assert_equal <<~TEXT.chomp, Bench::Figures.new(results, tables: {"x" => table}).fill("<!-- figures: x -->\nold\n<!-- end of figures -->")
      <!-- figures: x -->
      |  | a | c | d |
      |---|---|---|---|
      | ours | 1.3 / 12 | – / 0.50 | – |

      <sub>`bin/bench x`; without YJIT / with YJIT: Ruby 9, 2 cores, 2026-11-23.</sub>
      <!-- end of figures -->
    TEXT
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
