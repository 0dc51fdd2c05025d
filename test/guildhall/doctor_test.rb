# frozen_string_literal: true

require "test_helper"
require "guildhall"
require "support/doctor_examples"

# Twenty examples, each with what is to be found.
class DoctorTest < GuildhallTest
  DoctorExamples::ALL.each do |example|
    define_method(:"test_#{example.name.gsub(/\W+/, "_")}") do
      report = Guildhall.doctor(example.object, payloads: example.payloads)
      assert_equal example.things, report.findings.map(&:thing), report
      assert_equal example.things.empty?, report.runs?, report
      example.says.each { |text| assert_match text, report.to_s }
    end
  end

  def test_there_are_twenty
    assert_operator DoctorExamples::ALL.size, :>=, 20
  end

  def test_a_finding_has_file_and_line_and_what_to_change
    finding = Guildhall.doctor(DoctorExamples::Rates).findings.fetch(0)
    line = DoctorExamples::Rates.method(:call).source_location[1]
    assert_equal ["RATES", line, "is a Hash that is not shareable", "make it so: RATES = Ractor.make_shareable(…)"],
      [finding.thing, finding.line, finding.problem, finding.advice]
    assert finding.file.end_with?("doctor_examples.rb")
  end

  # What the pool says when it refuses a task.
  def test_the_words_are_the_pools
    error = assert_raises(Guildhall::IsolationError) { Guildhall::Pool.open(workers: 1) { |pool| pool.map(["x"], DoctorExamples::Rates) } }
    assert_equal error.findings, Guildhall.doctor(DoctorExamples::Rates).findings
  end

  # The analyser cannot see these; the trial does.
  def test_a_trial_completes_what_ruby_raises
    {DoctorExamples::HiddenConstant => ["DoctorExamples::HIDDEN", /is an Array that is not shareable/],
     DoctorExamples::HiddenVariable => ["a variable of DoctorExamples::HiddenVariable", /is set here, and workers cannot set variables of a module/],
     DoctorExamples::HiddenGlobal => ["$doctor_hidden", /is a global variable/]}.each do |task, (thing, problem)|
      assert_empty Guildhall.doctor(task).findings
      finding = Guildhall.doctor(task, payloads: ["x"]).findings.fetch(0)
      assert_equal thing, finding.thing
      assert_match problem, finding.problem
      assert_equal "doctor_examples.rb", File.basename(finding.file)
    end
  end

  def test_a_stack_that_is_too_deep_names_the_method
    finding = Guildhall.doctor(DoctorExamples::Deep, payloads: [2500]).findings.fetch(0)
    assert_equal "DoctorExamples::Deep.call", finding.thing
    assert_match(/deeper than a worker's stack/, finding.problem)
    assert_match(/RUBY_THREAD_VM_STACK_SIZE/, finding.advice)
  end

  def test_what_fails_everywhere_is_not_a_matter_of_ractors
    report = Guildhall.doctor(Guildhall::JSON, payloads: ["no JSON"])
    assert_empty report.findings
    assert_predicate report, :runs?
    assert_match(/where 1 of them raises, too \(Guildhall::JSON::ParseError: /, report.to_s)
    assert_equal 1, report.to_h["payloads_failed"]
  end

  # They have not shown that the rest runs.
  def test_payloads_that_fail_everywhere_do_not_clear_what_is_suspected
    report = Guildhall.doctor(DoctorExamples::Picky, payloads: ["x"])
    assert_equal :may_fail, report.verdict, report
    assert_match(/suspected, in code of gems or of Ruby/, report.to_s)
    assert_predicate Guildhall.doctor(DoctorExamples::Picky, payloads: ["", "x"]), :runs?
  end

  def test_a_task_that_changes_its_payload
    finding = Guildhall.doctor(DoctorExamples::Changing, payloads: ["x"]).findings.fetch(0)
    assert_equal ["String#upcase!", DoctorExamples::Changing.method(:call).source_location[1]], [finding.thing, finding.line]
    assert_match(/changes its payload, and payloads are frozen: can't modify frozen String/, finding.problem)
    assert_match(/payload\.dup/, finding.advice)
    assert_empty Guildhall.doctor(DoctorExamples::Careful, payloads: ["x"]).findings
  end

  def test_a_task_that_ends_the_process
    report = Guildhall.doctor(DoctorExamples::Ending, payloads: ["x"], stress: 2)
    assert_equal ["ends the process (exit status 3)"], report.findings.map(&:problem)
    report = Guildhall.doctor(DoctorExamples::Aborting, payloads: ["x"], stress: 2)
    assert_match(/where 1 of them raises, too \(SystemExit: .*all alike/m, report.to_s)
  end

  def test_a_task_that_ends_its_ractor
    assert_equal ["ends the Ractor that runs it (Thread.exit)"], Guildhall.doctor(DoctorExamples::Leaving, payloads: ["x"]).findings.map(&:problem)
  end

  def test_results_that_differ_from_those_of_the_main_ractor
    Thread.current[:doctor_tenant] = "acme"
    report = Guildhall.doctor(DoctorExamples::Tenant, payloads: %w[x y])
    assert_equal ['gives other results in a Ractor than in the main one, for 2 of 2 payloads: ["x", nil], not ["x", "acme"]'], report.findings.map(&:problem)
  ensure
    Thread.current[:doctor_tenant] = nil
  end

  def test_a_slow_task_is_tried_on_as_many_payloads_as_there_is_time_for
    report = Guildhall.doctor(DoctorExamples::Slow, payloads: ["x"] * 50)
    assert_predicate report, :runs?
    assert_match(/tried: 2 payloads in a Ractor/, report.to_s)
  end

  def test_what_is_printed_meanwhile_is_not_shown
    out = assert_ruby(<<~RUBY)
      $LOAD_PATH.unshift("test")
      require "guildhall"
      require "support/doctor_examples"
      puts Guildhall.doctor(DoctorExamples::Printing, payloads: ["x"], stress: 2).verdict
    RUBY
    assert_equal "runs\n", out
  end

  # A process without a waiting parent would run on.
  def test_an_interrupted_trial_leaves_no_process
    thread = Thread.new { Guildhall.doctor(DoctorExamples::Looping, payloads: ["x"]) }
    eventually { children.any? }
    thread.kill.join
    assert_empty children
  end

  # Ruby 3.4 cannot be forked while they live.
  def test_workers_of_a_pool_keep_nothing_from_being_tried
    Guildhall::Pool.open(workers: 1) do |pool|
      pool.map(["{}"] * 10, Guildhall::JSON, parallel: true)
      assert_predicate Guildhall.doctor(DoctorExamples::Plain, payloads: ["x"]), :runs?
      assert_equal [{}], pool.map(["{}"], Guildhall::JSON, parallel: true)
    end
  end

  def test_without_payloads_nothing_is_promised
    assert_match(/Plain: nothing was found that keeps it from running on workers.*not tried/m, Guildhall.doctor(DoctorExamples::Plain).to_s)
  end

  def test_results_that_always_differ_are_not_compared
    report = Guildhall.doctor(DoctorExamples::Dice, payloads: ["x"], stress: 2)
    assert_predicate report, :runs?
    assert_match(/1 payload not compared, because results differ from call to call/, report.to_s)
  end

  def test_stress
    report = Guildhall.doctor(Guildhall::JSON, payloads: ['{"id": 1}'], stress: 2)
    assert_operator report.stress.calls, :>, 0
    assert_predicate report, :runs?
    assert_match(/stress: \d+ calls from 2 Ractors at once, all alike/, report.to_s)
  end

  def test_stress_reports_differing_results
    report = Guildhall.doctor(DoctorExamples::Racing, payloads: ["x"], stress: 2)
    assert_match(/gives other results than in the main Ractor in \d+ of \d+ calls when 2 Ractors call it at once/, report.to_s)
  end

  def test_stress_reports_a_crash
    report = Guildhall.doctor(DoctorExamples::Crashing, payloads: ["x"], stress: 2)
    assert_match(/crashes Ruby \((SIGSEGV|SIGABRT|Segmentation fault)/, report.to_s)
    refute_predicate report, :runs?
  end

  def test_wrong_use
    assert_raises(Guildhall::ArgumentError) { Guildhall.doctor(Guildhall::JSON, stress: 4) }
    assert_raises(Guildhall::ArgumentError) { Guildhall.doctor({"no" => "task"}.freeze, payloads: ["1"]) }
    assert_raises(Guildhall::ArgumentError) { Guildhall.doctor(Guildhall::JSON, payloads: ["1"], stress: 1) }
  end

  def test_as_a_hash
    hash = Guildhall.doctor(DoctorExamples::Rates).to_h
    assert_equal %w[cannot_run RATES], [hash["verdict"], hash["findings"].first["thing"]]
  end

  def children
    Dir["/proc/self/task/*/children"].flat_map do |path|
      File.read(path).split
    rescue SystemCallError
      [] # of a thread that has just ended
    end
  end

  # Nothing is frozen or changed on the way.
  def test_changes_nothing
    data = {list: [+"a"]}
    Guildhall.doctor(data)
    refute_predicate data[:list][0], :frozen?
    payload = +"x"
    Guildhall.doctor(DoctorExamples::Plain, payloads: [payload])
    refute_predicate payload, :frozen?
  end
end
