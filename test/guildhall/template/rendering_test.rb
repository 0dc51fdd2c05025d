# frozen_string_literal: true

require "test_helper"
require "csv"
require "logger"
require "stringio"
require "guildhall/templates"

# Templates on a pool: order, failures in place, what is shared and what is copied.
class TemplateRenderingTest < GuildhallTest
  def setup
    @pool = Guildhall::Pool.new(workers: 2, logger: nil)
    @greeting = Guildhall::Template.new("Hi <%= name %>,\n<%= name.upcase %>", locals: [:name], name: "greeting.erb")
  end

  def teardown
    @pool.shutdown
  end

  def test_in_order_and_frozen
    [{}, {parallel: true}, {parallel: false}, {timeout: 30}].each do |options|
      results = @pool.render(@greeting, Array.new(300) { |index| {name: "n#{index}"} }, **options)
      assert_equal(Array.new(300) { |index| "Hi n#{index},\nN#{index}" }, results)
      assert(results.all?(&:frozen?))
    end
    assert_equal [], @pool.render(@greeting, [])
    assert_equal ["Hi a,\nA"], @pool.render(@greeting, [{name: "a"}].each)
  end

  def test_a_table_of_csv_is_its_rows
    rows = CSV.parse("name\nAda\nBob\n", headers: true)
    assert_equal ["Hi Ada,\nADA", "Hi Bob,\nBOB"], @pool.render(@greeting, rows.each.to_a)
    assert_equal ["Hi Ada,\nADA", "Hi Bob,\nBOB"], @pool.render(@greeting, rows)
  end

  def test_options_are_those_that_mean_something
    calls = [->(**options) { @pool.render(@greeting, [{name: "a"}], **options) }, ->(**options) { @pool.render_all([[@greeting, {name: "a"}]], **options) }]
    calls.product([{records: true}, {metadata: [1]}, {paralel: true}]) do |call, options|
      error = assert_raises(Guildhall::ArgumentError) { call.call(**options) }
      assert_match(/\Aunknown option #{options.keys.first}/, error.message)
    end
  end

  def test_workers_render
    template = Guildhall::Template.new("<%= Ractor.main? %>")
    assert_equal ["false"] * 4, @pool.render(template, [{}] * 4, parallel: true)
  end

  def test_failures_in_place
    [true, false].each do |parallel|
      results = @pool.render(@greeting, [{name: "a"}, {name: nil}, {nam: "b"}, {name: $stdout}, {name: -> {}}, "no", {name: "c"}], parallel:)
      assert_equal ["Hi a,\nA", "Hi c,\nC"], results.values_at(0, 6)
      failures = results[1..5]
      assert_equal %w[Guildhall::TemplateError Guildhall::ArgumentError Guildhall::NotShareableError Guildhall::NotShareableError Guildhall::ArgumentError],
        failures.map(&:error_class)
      assert_equal [1, 2, 3, 4, 5], failures.map(&:index)
      assert_equal ["greeting.erb", 2, "NoMethodError"], [failures[0].details[:template], failures[0].details[:line], failures[0].cause.error_class]
      assert_includes failures[0].message, "=>    2: <%= name.upcase %>"
      assert_equal ["locals[3][:name]", "locals[4][:name]"], failures[2..3].map { |failure| failure.details[:path] }
      assert_includes failures[2].message, "locals[3][:name] cannot be shared with workers: it is an IO"
      error = assert_raises(Guildhall::TemplateError) { failures[0].raise! }
      assert_equal 2, error.line
    end
  end

  def test_what_ends_a_worker_costs_one_result
    template = Guildhall::Template.new("<% Thread.exit if die %>alive", locals: [:die])
    results = @pool.render(template, [{die: false}, {die: true}, {die: false}], parallel: true)
    assert_equal %w[alive alive], results.values_at(0, 2)
    assert_equal "Guildhall::WorkerDiedError", results[1].error_class
  end

  def test_exit_throw_and_endless_recursion_cost_one_result
    texts = ["<% exit %>", "<% throw :x %>", "<% raise NoMemoryError %>", "<% f = ->(n) { f.call(n + 1) } %><%= f.call(1) %>", "<% raise Exception, 'x' %>"]
    texts.each do |text|
      results = @pool.render(Guildhall::Template.new("<% if bad %>#{text}<% end %>fine", locals: [:bad]), [{bad: false}, {bad: true}, {bad: false}], parallel: true)
      assert_equal [String, Guildhall::Failure, String], results.map(&:class), text
    end
  end

  def test_callers_objects_stay_as_they_are
    name = +"a"
    nested = {list: [name, {deep: +"b"}], set: Set[+"c"], struct: Struct.new(:x).new(+"d")}
    template = Guildhall::Template.new("<%= a[:list][1][:deep] %><%= a[:set].first %><%= a[:struct].x %><%= a.frozen? %>", locals: [:a])
    assert_equal ["bcdtrue"] * 2, @pool.render(template, [{a: nested}] * 2)
    refute [name, nested, nested[:list], nested[:list][1], nested[:set], nested[:struct].x].any?(&:frozen?)
  end

  def test_shareable_locals_are_not_copied
    list = Ractor.make_shareable(["x"])
    template = Guildhall::Template.new("<%= list.object_id %>", locals: [:list])
    assert_equal [list.object_id.to_s], @pool.render(template, [{list:}], parallel: true)
  end

  def test_odd_locals
    circular = []
    circular << circular << "x"
    counted = Hash.new { |hash, key| hash[key] = 1 }
    template = Guildhall::Template.new("<%= value[1] %>", locals: [:value])
    results = @pool.render(template, [{value: circular}, {value: counted}, {value: Hash.new(7)}, {value: {1 => "o"}.compare_by_identity}])
    assert_equal %w[x 7 o], results.values_at(0, 2, 3)
    assert_equal "locals[1][:value].default", results[1].details[:path]
    deep = (1..20_000).reduce([]) { |inner, _| [inner, 1] }
    assert_equal "Guildhall::NotShareableError", @pool.render(template, [{value: deep}]).first.error_class
  end

  def test_many_templates_at_once
    other = Guildhall::Template.new("<%= n * 2 %>", locals: [:n])
    bad = Guildhall::Template.new("\n<%= nil + 1 %>")
    pairs = Array.new(60) { |index| [[@greeting, {name: "n#{index}"}], [other, {n: index}], [bad, {}]][index % 3] }
    results = @pool.render_all(pairs)
    results.each_with_index do |result, index|
      case index % 3
      when 0 then assert_equal "Hi n#{index},\nN#{index}", result
      when 1 then assert_equal (index * 2).to_s, result
      else assert_equal [index, 2], [result.index, result.details[:line]]
      end
    end
    assert_predicate results, :frozen?
    assert_equal [[], ["Hi a,\nA"]], [@pool.render_all([]), @pool.render_all([[@greeting, {name: "a"}]])]
  end

  def test_different_templates_are_one_batch
    other = Guildhall::Template.new("<%= n * 2 %>", locals: [:n])
    batches = []
    @pool.instrumentation.subscribe("pool.dispatched") { |event| batches << event.payload[:payloads] }
    pairs = [[@greeting, {name: "a"}], [other, {n: 1}], [@greeting, {name: "b"}]]
    2.times { assert_equal ["Hi a,\nA", "2", "Hi b,\nB"], @pool.render_all(pairs, parallel: true) }
    assert_equal %w[2] + ["Hi a,\nA"], @pool.render_all(pairs.first(2).reverse, parallel: true)
    assert_equal [3, 3, 2], batches
  end

  def test_a_template_that_a_worker_refuses_costs_its_own_results
    other = Guildhall::Template.new("<%= n * 2 %>", locals: [:n])
    sneaky = Guildhall::Template.new("<%= Object.const_get('TemplateRenderingTest').const_get('TO' + 'UCHED').size %>")
    pairs = [[other, {n: 1}], [sneaky, {}], [@greeting, {name: "a"}], [sneaky, {}], [other, {n: 2}]]
    Guildhall::Pool.open(workers: 2, logger: Logger.new(File::NULL)) do |pool|
      results = pool.render_all(pairs, parallel: true)
      assert_equal ["2", "Hi a,\nA", "4"], results.values_at(0, 2, 4)
      assert_equal [1, 3], results.values_at(1, 3).map(&:index)
      assert_equal ["2", "Hi a,\nA"], pool.render_all([[other, {n: 1}], [@greeting, {name: "a"}]], parallel: true)
      2.times do |round| # the second one finds it refused
        results = pool.render_all(pairs, parallel: round.zero?)
        assert_equal ["2", "Hi a,\nA", "4"], results.values_at(0, 2, 4)
        assert_equal [[1, "Guildhall::IsolationError"], [3, "Guildhall::IsolationError"]], results.values_at(1, 3).map { |one| [one.index, one.error_class] }
      end
    end
  end
  TOUCHED = [+"x"] # rubocop:disable Style/MutableConstant -- what workers may not touch

  def test_wrong_arguments
    [[nil, []], ["x", []], [@greeting, nil], [@greeting, {name: 1}], [@greeting, 7]].each do |template, locals|
      assert_raises(Guildhall::ArgumentError, locals.inspect) { @pool.render(template, locals) }
    end
    [nil, {}, [7], [[7, {}], [@greeting, {}]], [[@greeting, {}], nil]].each do |pairs|
      assert_raises(Guildhall::ArgumentError, pairs.inspect) { @pool.render_all(pairs) }
    end
    assert_raises(Guildhall::ArgumentError) { @pool.render(@greeting, [], tiemout: 1) }
    assert_raises(Guildhall::ArgumentError) { @pool.render_all([[@greeting, {}], [nil, {}]], tiemout: 1) }
  end

  def test_timeout
    endless = Guildhall::Template.new("<% sleep 0.01 while endless %>", locals: [:endless])
    assert_raises(Guildhall::TimeoutError) { @pool.render(endless, [{endless: true}], timeout: 0.1, parallel: false) }
    assert_raises(Guildhall::TimeoutError) { @pool.render_all([[endless, {endless: true}], [@greeting, {name: "a"}]], timeout: 0.1, parallel: false) }
  end

  def test_what_only_a_worker_finds_out_is_refused_by_its_template_alone
    Object.const_set(:TEMPLATE_TEST_STATE, {a: 1}) unless Object.const_defined?(:TEMPLATE_TEST_STATE)
    sneaky = Guildhall::Template.new("\n<%= Object.const_get(:TEMPLATE_TEST_STATE)[:a] %>", name: "sneaky.erb")
    log = StringIO.new
    Guildhall::Pool.open(workers: 2, logger: Logger.new(log)) do |pool|
      results = pool.render(sneaky, [{}] * 3, parallel: true)
      failure = results.find { |one| one.error_class == "Guildhall::TemplateError" } # others may find it refused already
      assert_equal 2, failure.details[:line]
      assert_equal ["Hi a,\nA"], pool.render(@greeting, [{name: "a"}], parallel: true)
      assert_equal [%w[Guildhall::IsolationError] * 2, [0, 1]], pool.render(sneaky, [{}] * 2).then { |all| [all.map(&:error_class), all.map(&:index)] }
      assert_equal "Guildhall::IsolationError", pool.render_all([[sneaky, {}]]).first.error_class
    end
  end

  def test_rows_of_other_formats
    template = Guildhall::Template.new("<%= name %>/<%= tags.first %>", locals: %i[name tags])
    row = '{"name": "a", "tags": ["x"]}'
    assert_equal ["a/x"] * 2, @pool.render(template, [Guildhall::JSON.decode(row), Guildhall::JSON.document(row)])
  end

  def test_huge_output
    template = Guildhall::Template.new("<% 200.times do %><%= text %><% end %>", locals: [:text])
    results = @pool.render(template, [{text: "é<" * 25_000}] * 3, parallel: true)
    assert_equal [200 * 25_000 * 6] * 3, results.map(&:bytesize)
  end

  def test_compiled_while_workers_render
    text = "<% n.times do |i| %><%= i %> <%= name.sub(/a/, 'b') %> <%= \"<\#{i}>\" %>,<% end %>"
    expected = Guildhall::Template.new(text, locals: %i[n name]).render(n: 20, name: "abc")
    futures = Array.new(150) do |index|
      template = Guildhall::Template.new("#{text}#{index}", locals: %i[n name])
      @pool.dispatch([{n: 20, name: "abc"}.freeze] * 8, template, parallel: true)
    end
    futures.each_with_index { |future, index| assert_equal ["#{expected}#{index}"], future.value.uniq }
  end

  def test_after_a_fork
    skip "a process with Ractors must not fork on Ruby 3.4" if RUBY_VERSION < "4"

    expected = @pool.render(@greeting, [{name: "a"}] * 4, parallel: true)
    reader, writer = IO.pipe
    child = fork do
      writer.write(Marshal.dump(@pool.render(@greeting, [{name: "a"}] * 4, parallel: true)))
      exit!(0)
    end
    writer.close
    assert_equal expected, Marshal.load(reader.read)
  ensure
    Process.wait(child) if child
    reader&.close
  end
end
