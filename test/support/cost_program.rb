# frozen_string_literal: true

require "json"
require "rbconfig"
require "tmpdir"
require_relative "../../tool/environment"

# Runs rows of test/support/cost in a process of its own, with the extension built so that its steps are counted, and the counter
# preloaded (test/support/work_count.c).
module CostProgram
  SOURCE = File.expand_path("work_count.c", __dir__)
  PROGRAM = File.expand_path("cost/run.rb", __dir__)
  COUNTING = {"GUILDHALL_COUNT" => "1", "GUILDHALL_SANITIZE" => nil, "GUILDHALL_PORTABLE" => nil}.freeze
  SETUP_SECONDS = 1_200 # on a busy machine

  private

  # @param files [Hash{String=>String}] files of rows, and the modules in them
  def assert_rows(files, **)
    faults = faults_of(files, **).compact
    assert_empty(faults, faults.map { |row, fault| "#{row}\n    #{fault}" }.join("\n"))
  end

  # @return [Hash{String=>String, nil}] what is wrong with each row
  def faults_of(files, timeout: 600, **options)
    unless RbConfig::CONFIG["host_os"].include?("linux-gnu") || RUBY_PLATFORM.end_with?("linux")
      skip("the steps of C code are counted on Linux with glibc only")
    end
    lines = counted(JSON.generate({"files" => files.keys, "modules" => files.values, "factor" => 1, "all" => true}.merge(options.transform_keys(&:to_s))), timeout)
    assert_equal(lines.pop["rows"], lines.size, "rows that did not run")
    lines.to_h { |line| [line["row"], line["fault"] && "#{line["fault"]}: #{line["counts"]}"] }
  end

  # @return [Array<Hash>] the lines that the program has written
  def counted(arguments, timeout)
    Dir.mktmpdir("guildhall") do |folder|
      counter = compile_counter(folder)
      environment = counting_environment
      out, err, status = run_command([RbConfig.ruby, "-W0", PROGRAM, counter, arguments], timeout:, env: {**environment, "LD_PRELOAD" => counter})
      assert_predicate(status, :success?, "#{err[-2_000..] || err}\n#{out[-2_000..]}")
      out.lines.map { |line| JSON.parse(line) }
    end
  end

  def compile_counter(folder)
    counter = File.join(folder, "work_count.so")
    includes = RbConfig::CONFIG.values_at("rubyhdrdir", "rubyarchhdrdir").map { |path| "-I#{path}" }
    command = [RbConfig::CONFIG["CC"].split.first, "-shared", "-fPIC", "-O1", "-w", "-fno-builtin", "-fno-tree-loop-distribute-patterns", *includes, SOURCE,
               "-o", counter, "-ldl"]
    out, err, status = run_command(command)
    assert_predicate(status, :success?, "#{command.join(" ")}\n#{out}#{err}")
    counter
  end

  # Builds what is missing of it, or waits for another process that does.
  def counting_environment
    setup = [RbConfig.ruby, "--disable=gems", File.join(Environment::ROOT, "tool/setup.rb"), "--then", File.join(__dir__, "cost/environment.rb")]
    File.open(File.join(Environment::BUILD, "counting.lock"), "w") do |lock|
      lock.flock(File::LOCK_EX)
      out, err, status = run_command(setup, timeout: SETUP_SECONDS, env: {**COUNTING, "RUBYOPT" => nil, "BUNDLER_SETUP" => nil})
      assert_predicate(status, :success?, "#{out}#{err}")
      COUNTING.merge(JSON.parse(out))
    end
  end
end
