# frozen_string_literal: true

require "test_helper"
require "guildhall/pool"

# What a task returns leaves frozen, by the pool's own work, and nothing else is frozen on the way.
class ShareableResultTest < GuildhallTest
  Point = Struct.new(:x, :y)
  Pair = Data.define(:left, :right)

  # An object with variables, and with a `freeze` of its own where asked for.
  class Box
    attr_reader :content

    def initialize(content) = @content = content
  end

  class Sealed < Box
    def freeze
      @content = "sealed"
      super
    end
  end

  def share(value)
    Guildhall::Shareable.plain?(value) ? value : Guildhall::Shareable.result(value)
  end

  def test_data_is_frozen_in_place
    value = ["a" + "b", {key: [1.5, 10**40, nil]}, Point.new("x".dup, [1]), Pair.new("l".dup, {}), Box.new("content".dup), :symbol]
    assert_same value, share(value)
    assert Ractor.shareable?(value)
    assert_predicate value.first, :frozen?
    assert_predicate value[4].content, :frozen?
  end

  # Ruby 3.4 has a `freeze` of its own for them: there they are copied.
  def test_sets_are_frozen_in_place
    sets = [Set["a".dup, [Set["b".dup]]], Set["a".dup].freeze, Set["a".dup].compare_by_identity, Set[], Class.new(Set)["a".dup]]
    in_place = Set.instance_method(:freeze).owner == Kernel
    sets << Set[].tap { |set| set << [set] } if in_place
    sets.each do |set|
      elements = set.to_a
      shared = share(set)
      assert Ractor.shareable?(shared)
      assert_equal elements.size, shared.size
      next unless in_place

      assert_same set, shared
      assert(elements.all?(&:frozen?) && set.to_a.zip(elements).all? { |now, before| now.equal?(before) })
    end
  end

  def test_a_set_that_cannot_be_shared_is_left_as_it_was
    holder = Set[["a"], $stdout]
    assert_raises(Guildhall::NotShareableError) { share(holder) }
    refute_predicate holder, :frozen?
    refute_predicate holder.first, :frozen?
  end

  # Ruby would walk through the Sets with a lock held, and wait for the collection that the other Ractor has begun, for ever.
  def test_frozen_sets_leave_beside_a_collection
    out = assert_ruby(<<~RUBY, env: {"RUBY_GC_MALLOC_LIMIT" => "2000", "RUBY_GC_MALLOC_LIMIT_MAX" => "2000"})
      GC.disable # Ruby 4.0.5 itself crashes when it collects garbage at each step while it compiles a file
      require "guildhall/pool"
      GC.enable
      Warning[:experimental] = false
      module Words
        def self.call(count) = Set.new((1..count).map { |number| number.to_s.freeze }).freeze
      end
      pool = Guildhall::Pool.new(workers: 2)
      Ractor.new { loop { Array.new(10) { "x" * 500 } } }
      40.times { pool.dispatch([200] * 20, Words, parallel: true).wait }
      $stdout.syswrite("done")
      exit!(0)
    RUBY
    assert_includes out, "done"
  end

  def test_what_lies_within_itself_and_long_chains
    list = []
    list << list
    deep = 200_000.times.inject([]) { |inner, _| [inner] }
    [list, deep].each do |value|
      assert_same value, share(value)
      assert_predicate value, :frozen?
    end
  end

  def test_ends_of_long_strings_and_arrays_get_contents_of_their_own
    whole = "x" * 10_000
    part = whole[1000..]
    array = Array.new(1000) { "a".dup }
    assert Ractor.shareable?(share([part, array[500..]]))
    whole << "y"
    array << "b"
    refute_predicate whole, :frozen?
    assert_equal 9000, part.size
  end

  def test_hashes_with_defaults
    with_value = share(Hash.new("default".dup).merge!(a: 1))
    assert_predicate with_value.default, :frozen?
    assert_raises(Guildhall::NotShareableError) { share([Hash.new { 1 }]) }
  end

  def test_what_ruby_has_to_share_is_copied
    value = [Time.at(0), Set["a".dup], Sealed.new("open")]
    shared = share(value)
    assert Ractor.shareable?(shared)
    assert_equal [Time.at(0), Set["a"], "sealed"], [*shared.first(2), shared[2].content]
    refute_predicate value, :frozen?
  end

  NEVER = {"IO" => -> { $stdout }, "Proc" => -> { -> {} }, "Thread" => -> { Thread.new { nil } }, "Thread::Mutex" => -> { Mutex.new },
           "Method" => -> { "x".method(:size) }, "Enumerator" => -> { [1].each }, "Binding" => -> { binding }}.freeze

  def test_what_cannot_be_shared_is_refused_and_nothing_around_it_is_frozen
    NEVER.each do |type, made|
      value = ["text".dup, {deep: [1, made.call]}]
      error = assert_raises(Guildhall::NotShareableError, type) { share(value) }
      assert_equal "result[1][:deep][1]", error.path, type
      assert_match(/cannot leave its Ractor: it is an? #{type}/, error.message)
      refute [value, value[0], value[1], value[1][:deep]].any?(&:frozen?), type
    end
    refute_predicate $stdout, :frozen?
  end

  def test_a_flag_is_never_left_on_what_is_not_shareable
    value = [Point.new]
    value[0].x = value
    value << Thread.new { nil }
    assert_raises(Guildhall::NotShareableError) { share(value) }
    refute Ractor.shareable?(value)
    refute Ractor.shareable?(value[0])
    assert_raises(Ractor::Error) { Guildhall::Shareable.plain!([Hash.new { 1 }]) }
    refute Ractor.shareable?(Guildhall::Shareable.plain!({}).merge(a: Thread.current))
  end

  def test_a_basic_object
    assert_raises(Guildhall::NotShareableError) { share([BasicObject.new]) }
  end

  # Returns its own buffer, and goes on with it.
  class Buffering
    def initialize = @buffer = +""
    def call(text) = @buffer << text
  end

  module Remembering
    def self.call(text) = (Thread.current[:remembered] ||= []) << text
  end

  class Holding
    def initialize(rules) = @rules = rules
    def call(text) = [@rules, text]
  end

  def test_what_a_tool_or_a_thread_keeps_is_copied_wherever_it_runs
    [{parallel: true}, {parallel: false}].each do |how|
      pool = Guildhall::Pool.new(workers: 1)
      assert_equal %w[a ab abc], pool.map(%w[a b c], Guildhall::Task.per_worker(Buffering), **how)
      assert_equal [1, 2, 3], pool.map(%w[a b c], Remembering, **how).map(&:size)
      Thread.current[:remembered] = nil
    ensure
      pool.shutdown
    end
  end

  def test_what_the_task_or_the_payload_has_is_the_same_object
    pool = Guildhall::Pool.new(workers: 1)
    rules = Ractor.make_shareable({a: [1]})
    payload = "frozen"
    [true, false].each do |parallel|
      (mine, text), = pool.map([payload], Ractor.make_shareable(Holding.new(rules)), parallel:)
      assert_same rules, mine
      assert_same payload, text
    end
  ensure
    pool.shutdown
  end

  # What nobody has run on a worker may come from anywhere in the main Ractor.
  KEPT = [+"the application's own"] # rubocop:disable Style/MutableConstant -- on purpose

  module Leaking
    def self.call(_payload) = ShareableResultTest.const_get(:KEPT)
  end

  def test_what_belongs_to_the_application_is_not_frozen_inline
    pool = Guildhall::Pool.new(workers: 0)
    assert_equal [KEPT], pool.map([1], Leaking)
    refute_predicate KEPT, :frozen?
    refute_predicate KEPT[0], :frozen?
  end

  def test_collections_and_compactions
    out = assert_ruby(<<~RUBY)
      require "guildhall/pool"
      pool = Guildhall::Pool.new(workers: 2)
      task = Ractor.make_shareable(Class.new { def call(n) = Array.new(50) { |i| ["item " * i, {i => [n.to_s, i * 1.5, "x" * 500]}] } }.new)
      8.times do |time|
        results = pool.map(Array.new(40) { |n| n }, task, parallel: time.odd?)
        raise "wrong" unless results.each_with_index.all? { |one, n| one[49][1][49][0] == n.to_s && Ractor.shareable?(one) }
        GC.verify_internal_consistency
        GC.compact if RUBY_VERSION >= "4"
      end
      puts "right"
    RUBY
    assert_equal "right\n", out
  end

  # Ruby 4.0 keeps them in an object of their own, which has to be shareable too.
  def test_instance_variables_of_what_is_no_plain_object
    out = assert_ruby(<<~'RUBY')
      require "guildhall/pool"
      pair = Struct.new(:one)
      made = [+"text", ["in a list"], {"in" => "a hash"}, pair.new("in a struct")]
      made.each { |one| one.instance_variable_set(:@mark, ["a mark"]) }
      made[1] << made[0]
      task = Ractor.make_shareable(Class.new { def call(payload) = payload.map { it.dup.tap { |copy| copy.instance_variable_set(:@mark, "m" * 50) } } }.new)
      pool = Guildhall::Pool.new(workers: 1)
      kept = pool.map([Ractor.make_shareable(made)], task, parallel: true)
      GC.verify_internal_consistency
      p kept[0].map { it.instance_variable_get(:@mark) == "m" * 50 }, Ractor.shareable?(kept[0])
    RUBY
    assert_equal "[true, true, true, true]\ntrue\n", out
  end
end
