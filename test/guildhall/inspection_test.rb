# frozen_string_literal: true

require "test_helper"
require "logger"
require "monitor"
require "guildhall/pool"
require "guildhall/json"
require "guildhall/pipeline"

# What reading a task finds, and where: the table of tasks in pool/one_meaning_test has the rest.
class InspectionTest < GuildhallTest
  RATES = {"EUR" => 1.1} # rubocop:disable Style/MutableConstant -- on purpose

  module Rates
    EUR = 1
  end

  module Nested
    RATES = {a: 1}.freeze
    module Inner
      def self.call(key) = RATES[key]
    end
  end

  class Converter
    def initialize(rate: 1) = @rate = rate
    def call(amount) = convert(amount, times: 1 > 2 ? 3 : 4) { |one| one * RATES.size }
    def convert(amount, times:) = yield(amount * times)
  end

  class Reader
    attr_reader :source

    def initialize(source)
      @source = source
      freeze
    end

    def call(key) = source.call(key)
  end

  module Looking
    def self.call(key) = InspectionTest::RATES[key]
  end

  module Creating
    def self.call(amount) = Converter.new(rate: 2).call(amount)
  end

  module Careless
    def self.call(key) = @other = RATES[key] + $careless.size # rubocop:disable Style/GlobalVars
  end

  module Yielding
    def self.call(key) = both { key }
    def self.both = pair(Converter.new, yield)
    def self.pair(converter, key) = [converter, $yielding, key] # rubocop:disable Style/GlobalVars
  end

  class Forwarding < Converter
    def initialize(...)
      super(...) # rubocop:disable Style/SuperArguments -- an instruction of its own
      $forwarding.size # rubocop:disable Style/GlobalVars
    end
  end

  # `super` and `self.class` are calls on self, too.
  class Child < Converter
    LIMITS = {min: 1} # rubocop:disable Style/MutableConstant
    def initialize(rate) = super(rate:)
    def call(amount) = super * 2
  end

  class Limiting
    LIMITS = {min: 1} # rubocop:disable Style/MutableConstant
    def call = self.class::LIMITS
  end

  module Inheriting
    def self.call(amount) = Child.new(2).call(amount)
  end

  module Classy
    def self.call(_) = Limiting.new.call
  end

  Pair = Struct.new(:one) { def call = RATES[one] }
  Single = Data.define(:one) { def call = RATES[one] }

  # Methods that a module has of its own where Ruby's are expected.
  module Register
    @@members = [] # rubocop:disable Style/ClassVars -- is what is found
    def self.call(name) = @@members.include?(name)
  end

  module Counter
    @@count = 0 # rubocop:disable Style/ClassVars -- as above
    def self.call(_) = @@count = 1 # rubocop:disable Style/ClassVars
  end

  class Bag
    extend Enumerable

    @@size = 1 # rubocop:disable Style/ClassVars
    def self.name(_style) = "a bag"
    def self.to_s = raise("no text")
    def self.method = :get
    def self.each = yield(1)
    def self.call(_) = @@size
  end

  # What a library gives to eval is as little the application's as the library.
  module Evaluating
    def self.call(_) = ERB.evaluated
  end

  # A constant that the application did not write.
  module Borrowing
    def self.call(text) = [Logger::Severity::LEVELS, text]
  end

  module Autoloading
    autoload :Missing, "a file that is not there"
    def self.call(key) = Missing[key]
  end

  def found(task) = Guildhall::Inspection.of(task).findings.map(&:thing)

  # A function like BigDecimal(…) or Nokogiri(…), whose library comes later.
  def test_a_function_that_is_not_there_yet
    finding, = Guildhall::Inspection.of(->(payload) { NotLoadedYet(payload) }).findings
    assert_equal "NotLoadedYet(…) (#{__FILE__}:#{finding.line}) is not defined yet; load what defines it, " \
                 "`require \"notloadedyet\"` say, before the task is dispatched", finding.to_s
  end

  def test_a_finding_says_what_where_and_what_to_do
    finding = Guildhall::Inspection.of(Looking).findings.fetch(0)
    assert_equal ["InspectionTest::RATES", __FILE__, Looking.method(:call).source_location[1]], [finding.thing, finding.file, finding.line]
    assert_equal "InspectionTest::RATES (#{__FILE__}:#{finding.line}) is a Hash that is not shareable; " \
                 "make it so: RATES = Ractor.make_shareable(…)", finding.to_s
  end

  # Of which Ractor.make_shareable raises, or makes something that does not work any more.
  module Keeping
    LOG = Logger.new(File::NULL)
    COUNTS = Hash.new { |counts, key| counts[key] = key.size }
    LOCKED = ["name", Monitor.new] # rubocop:disable Style/MutableConstant -- not frozen
    FILES = {log: [+"name", $stderr]} # rubocop:disable Style/MutableConstant -- not frozen
    LISTS = [[+"name"]] # rubocop:disable Style/MutableConstant -- not frozen

    def self.call(_) = [LOG, COUNTS, LOCKED, FILES, LISTS]
  end

  def test_a_finding_says_what_to_do_about_what_cannot_be_frozen
    keep = "use Guildhall::Task.per_worker for what each worker is to keep"
    assert_equal ["use Guildhall.logger, which workers can share", keep, keep, "open it where it is used, or return data and write it in the main Ractor",
                  "make it so: LISTS = Ractor.make_shareable(…)"], Guildhall::Inspection.of(Keeping).findings.map(&:advice)
  end

  def test_all_findings_are_reported_together
    error = assert_raises(Guildhall::IsolationError) { Guildhall::Inspection.of(Careless).check! }
    assert_equal ["RATES", "$careless", "@other of InspectionTest::Careless"], error.findings.map(&:thing)
    assert_kind_of Ractor::IsolationError, error
  end

  def test_constants_are_looked_up_as_ruby_does
    assert_empty found(Nested::Inner)
    assert_empty found(->(_) { Rates::EUR })
    assert_equal ["RATES"], found(->(key) { RATES[key] })
  end

  def test_calls_are_followed_on_self_on_constants_on_parts_and_on_what_new_gives
    assert_equal ["RATES"], found(Creating)
    assert_equal ["RATES"], found(Converter.new.freeze)
    assert_equal ["InspectionTest::RATES"], found(Reader.new(Looking))
    assert_equal ["RATES"], found(Guildhall::JSON >> Guildhall.map(Ractor.make_shareable(Converter.new)))
    assert_equal ["RATES"], found(Guildhall::Task.per_worker(Converter, rate: 3))
  end

  def test_super_and_the_class_of_self_are_followed
    assert_equal ["RATES"], found(Inheriting)
    assert_equal ["InspectionTest::Limiting::LIMITS"], found(Classy)
  end

  def test_methods_of_structs_and_of_data_are_followed
    assert_equal ["RATES"], found(->(key) { Pair.new(key).call })
    assert_equal ["RATES"], found(->(key) { Single.new(one: key).call })
  end

  def test_class_variables_that_no_worker_reads_or_sets
    assert_equal ["@@members of InspectionTest::Register"], found(Register)
    assert_equal ["@@count of InspectionTest::Counter"], found(Counter)
    [Register, Counter].each do |task| # a constant can neither count nor collect
      assert_match(/if it counts or collects: return the value, .*pool\.reduce/, Guildhall::Inspection.of(task).findings.fetch(0).advice)
    end
  end

  def test_a_module_with_a_method_name_of_its_own
    assert_equal(RUBY_VERSION < "4.1" ? ["@@size of InspectionTest::Bag"] : [], found(Bag)) # its value is shareable
    assert_empty Guildhall::Inspection.of(Bag, load: true).missing
    assert_equal "InspectionTest::Bag", Guildhall::Inspection.name_of(Bag)
  end

  def test_a_module_with_a_temporary_name
    type = Class.new { def self.call(text) = text.upcase }
    type.set_temporary_name("for people")
    assert_empty Guildhall::Inspection.of(type, load: true).findings
  end

  def test_evaluated_code_belongs_to_where_it_was_evaluated
    require "erb"
    library = File.join(RbConfig::CONFIG["rubylibdir"], "erb.rb")
    ERB.class_eval("@settings = {}\ndef self.evaluated = @settings", "(eval at #{library}:7)") # rubocop:disable Style/EvalWithLocation
    assert_empty found(Evaluating)
    assert_equal [library, 7], Guildhall::Inspection.place("(eval at #{library}:7)", 12)
  ensure
    ERB.singleton_class.remove_method(:evaluated)
  end

  # A block takes no receiver from the stack.
  def test_what_follows_a_yield_is_read
    assert_equal ["$yielding"], found(Yielding)
    assert_equal ["$forwarding"], found(->(amount) { Forwarding.new(rate: amount) })
  end

  def test_the_advice_for_a_constant_of_others_is_to_freeze_it
    require "logger"
    finding = Guildhall::Inspection.of(Borrowing).findings.fetch(0)
    assert_equal ["Logger::Severity::LEVELS", "call Ractor.make_shareable(Logger::Severity::LEVELS) before the pool starts"],
      [finding.thing, finding.advice]
  end

  def test_nothing_is_loaded_unless_asked
    assert_empty Guildhall::Inspection.of(Autoloading).findings
    assert Autoloading.autoload?(:Missing)
    assert_match(/Missing \(cannot load such file/, Guildhall::Inspection.of(Autoloading, load: true).missing.fetch(0))
  end

  def test_what_keeps_state_and_what_is_all_ours
    thread = Guildhall::Inspection.of(->(x) { Thread.current[:x] = x })
    tool = Guildhall::Inspection.of(Guildhall::Task.per_worker(Converter))
    assert_equal [true, true, false], [thread, tool, Guildhall::Inspection.of(Rates)].map(&:keeps_state?)
    codec = Guildhall::Inspection.of(Guildhall::JSON.lazy)
    assert_equal [true, false], [codec.own?, thread.own?]
  end

  class OwnCodec
    include Guildhall::Codec

    def initialize = freeze
    def encode(object) = object.to_s
    def decode(bytes) = $decoding + bytes # rubocop:disable Style/GlobalVars
  end

  module Identity
    def self.call(object) = object
  end

  def test_the_decode_of_a_codec_is_read
    assert_equal ["$decoding"], found(OwnCodec.new)
    assert_equal ["$decoding"], found(OwnCodec.new >> Identity)
    refute_predicate Guildhall::Inspection.of(OwnCodec.new), :own?
    assert_empty found(Guildhall::JSON >> Identity >> Guildhall.encode(OwnCodec.new)), "of one that encodes it is not"
  end

  def test_a_gems_code_is_not_ours
    path = "#{Gem.path.first}/gems/money-1/lib/money.rb"
    Object.class_eval("module ::GemTask; def self.call(x) = x; end", path, 1) # rubocop:disable Style/EvalWithLocation
    refute_predicate Guildhall::Inspection.of(::GemTask), :own?
  ensure
    Object.send(:remove_const, :GemTask)
  end

  def test_the_right_variable_is_named
    a = 1
    limit = [a, 2]
    error = assert_raises(Guildhall::NotShareableError) { Guildhall::Shareable.callable!(nil.instance_exec { ->(x) { limit.include?(x) } }) }
    assert_equal "task's variable limit", error.path
  end

  def test_globals_are_those_that_a_worker_has
    names = Ractor.make_shareable(global_variables.sort)
    reached = ractor_value(Ractor.new(names) do |all|
      all.select do |name|
        eval(name.to_s) || true # rubocop:disable Security/Eval
      rescue Ractor::IsolationError, Ractor::UnsafeError
        false
      end
    end)
    ours = Guildhall::Inspection::Visitor.const_get(:GLOBALS)
    assert_empty ours - reached
  end

  Holding = Struct.new(:parts) do
    def call(payload) = payload
    def inspect = raise("none")
  end

  def test_a_name_of_what_cannot_be_inspected
    assert_equal "InspectionTest::Holding", Guildhall::Inspection.name_of(Holding.new)
    assert_equal ["x"], Guildhall::Pool.open(workers: 0) { |pool| pool.map(["x"], Holding.new.freeze) }
  end

  def test_what_an_object_holds_and_may_call
    one, other = Array.new(2) { Holding.new.freeze }
    [one, [1, one], {a: one}, {one => 1}].each { |parts| assert_equal [one], Guildhall::Inspection.callables_of(Holding.new(parts)) }
    assert_equal [one, other], Guildhall::Inspection.callables_of(Holding.new({one => other}))
    assert_empty Guildhall::Inspection.callables_of(Holding.new({1 => {2 => one}}))
  end
end
