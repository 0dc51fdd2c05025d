# frozen_string_literal: true

require "guildhall/pool"
require "guildhall/json"
require "guildhall/pipeline"
require "timeout"

# Tasks that are good, bad, or subtly one of the two, each with what is to come of it: the same in every mode.
#
# `gives` is what a payload becomes; `refused` matches the message with which the task is refused; `fails` is the class of the
# Failure. A second one with 34 is for Ruby 3.4 where that differs.
# rubocop:disable Style/GlobalVars, Style/ClassVars, Style/Semicolon, Style/WordArray, Style/PerlBackrefs -- that is what it is about
module MeaningTable
  MUTABLE = {"EUR" => 1.1} # rubocop:disable Style/MutableConstant -- on purpose
  FROZEN = {"EUR" => 1.1}.freeze
  BUFFER = +"buffer"
  LOCK = Mutex.new
  $meaning = 20
  @rate = 2
  @list = [+"list"]
  @memo = "set"
  @@count = 3

  Case = Struct.new(:name, :payload, :made, :expectations) do
    def task = made.call

    # @return [Array] gives, refused or fails, and what
    def expected
      old = expectations.find { |kind, _| kind.end_with?("34") } if RUBY_VERSION < "4"
      old ? [old[0].to_s.delete_suffix("34").to_sym, old[1]] : expectations.first
    end
  end

  CASES = [] # rubocop:disable Style/MutableConstant -- filled below

  def self.row(name, payload = "x", **expected, &made)
    CASES << Case.new(name, payload, made, expected)
  end

  # What a lambda finds around it.
  class Surroundings
    def initialize(rate) = @rate = rate
    def with_variable = ->(text) { text * (@rate || 1) }
    def with_method = ->(text) { text * factor }
    def with_self = ->(_text) { self }
    def with_kernel = ->(text) { Integer(text) + format("%d", 1).to_i }
    def with_nothing = ->(text) { text.upcase }
    def with_top_level = ->(text) { guildhall_meaning(text) }
    def with_block = ->(text) { [1, 2].map { |n| n * @rate + text.size } }
    def with_memo = ->(text) { @memo ||= text }
    def factor = 3
  end
end

def guildhall_meaning(text) = text.empty? ? "" : text[0] + guildhall_meaning(text[1..])

module MeaningTable
  mutable = Surroundings.new(2)
  frozen = Surroundings.new(2).freeze
  on34 = /self.*not shareable/

  # lambdas and self
  row("a lambda", gives: "X", refused34: on34) { mutable.with_nothing }
  row("a lambda, self frozen", gives: "X") { frozen.with_nothing }
  row("an instance variable, self mutable", refused: /@rate.*needs self.*Surroundings/, refused34: on34) { mutable.with_variable }
  row("an instance variable, self frozen", gives: "xx") { frozen.with_variable }
  row("an instance variable in a block in a lambda", refused: /@rate/, refused34: on34) { mutable.with_block }
  row("an instance variable in a block, self frozen", gives: [3, 5]) { frozen.with_block }
  row("a method, self mutable", refused: /factor.*needs self/, refused34: on34) { mutable.with_method }
  row("a method, self frozen", gives: "xxx") { frozen.with_method }
  row("self itself, self mutable", refused: /self.*needs self/, refused34: on34) { mutable.with_self }
  row("self itself, self frozen", gives: frozen) { frozen.with_self }
  row("a memo in a lambda", refused: /@memo/, refused34: on34) { mutable.with_memo }
  row("a memo in a lambda, self frozen", fails: "FrozenError") { frozen.with_memo }
  row("Kernel's functions", "7", gives: 8, refused34: on34) { mutable.with_kernel }
  row("a method at the top level", "abc", gives: "abc", refused34: on34) { mutable.with_top_level }
  row("a lambda in a module", gives: "X") { ->(text) { text.upcase } }
  row("an instance variable of a module, shareable", 3, gives: 6) { ->(n) { n * @rate } }
  row("an instance variable of a module, not shareable", refused: /@list of MeaningTable/) { ->(_) { @list.size } }
  row("a module's instance variable is set", refused: /@other of MeaningTable/) { ->(text) { @other = text } }
  row("a module's memo, set", gives: "set") { ->(text) { @memo ||= text } }
  row("a module's memo, not set", refused: /@unset of MeaningTable/) { ->(text) { @unset ||= text } }
  row("a block that is no lambda", gives: "X") { proc { |text| text.upcase } }
  row("a method's name as a block", gives: "X") { :upcase.to_proc }
  row("a Method", refused: /Method; use a lambda/) { "x".method(:concat) }

  # what lambdas capture
  row("a captured number", "ab", gives: "abab") { nil.then { n = 2; ->(text) { text * n } } }
  row("a captured Array", refused: /variable list/) { nil.then { a = 1; list = [a]; ->(_) { list } } }
  row("a captured frozen Array", gives: [1]) { nil.then { list = [1].freeze; ->(_) { list } } }
  row("a captured variable that changes", refused: /variable count/) { nil.then { count = 0; ->(_) { count += 1 } } }
  row("a captured variable that has changed", refused: /variable n\b/, gives34: 2) { nil.then { n = 1; n += 1; ->(_) { n } } }

  # constants, globals, class variables
  row("a mutable constant", "EUR", refused: /MUTABLE .*Hash that is not shareable/) { ->(text) { MUTABLE[text] } }
  row("a frozen constant", "EUR", gives: 1.1) { ->(text) { FROZEN[text] } }
  row("a mutable constant by its path", "EUR", refused: /MeaningTable::MUTABLE/) { ->(text) { ::MeaningTable::MUTABLE[text] } }
  row("a mutable constant in a branch that is not taken", refused: /MUTABLE/) { ->(text) { text == "never" ? MUTABLE : text } }
  row("a mutable constant in a rescue", refused: /BUFFER/) { ->(text) { Integer(text) rescue BUFFER } } # rubocop:disable Style/RescueModifier
  row("a mutable constant in a block", refused: /MUTABLE/) { ->(text) { [text].map { |one| MUTABLE[one] } } }
  row("a lock in a constant", refused: /LOCK.*Mutex/) { ->(text) { LOCK.synchronize { text } } }
  row("a constant that is asked for", gives: "constant") { ->(_) { defined?(MUTABLE) } }
  row("a constant that is not there", fails: "NameError") { ->(_) { NOWHERE } }
  row("ENV", gives: "none") { ->(_) { ENV.fetch("GUILDHALL_NOT_SET", "none") } }
  row("a global variable", refused: /\$meaning .*global/) { ->(_) { $meaning } }
  row("a global variable is set", refused: /\$meaning/) { ->(text) { $meaning = text } }
  row("globals that each Ractor has", gives: true) { ->(_) { $stderr.is_a?(IO) && $stdout.is_a?(IO) && $VERBOSE.to_s && $!.nil? } }
  row("a question of a match", "a1", gives: true) { ->(text) { text.match?(/\d/) } }
  row("a match", "a1", gives: ["1", "a"], refused34: /regular expression.*Ruby 3\.4/) { ->(text) { text =~ /\d/ ? [$~[0], $`] : nil } }
  row("a class variable", **(RUBY_VERSION < "4.1" ? {refused: /@@count.*class variable/} : {gives: 3})) { ->(_) { @@count } }

  # modules and objects
  module Plain
    def self.call(text) = helper(text)
    def self.helper(text) = text + "!"
  end

  module Deep
    def self.call(text) = helper(text)
    def self.helper(text) = Lookup.new(text).rate
  end

  class Lookup
    def initialize(text) = @text = text
    def rate = MUTABLE[@text]
  end

  class Memo
    def self.call(text) = (@memo ||= {})[text] ||= text
  end

  # A setting of a module, as applications have them.
  module Settings
    class << self
      attr_accessor :limits, :factor, :unset
      alias multiplier factor
    end
    self.limits = {"x" => 1}
    self.factor = 3
  end

  class Defined
    define_singleton_method(:call) { |text| text }
  end

  Parser = Struct.new(:mode) { def parse(text) = "#{mode}#{MUTABLE[text]}" }
  Holder = Struct.new(:parser) { def call(text) = parser.parse(text) }

  class Tagger
    def initialize(tags) = @tags = tags
    def call(text) = @tags[text]
    def with_state(text) = @state = text
  end

  class Writer < Tagger
    def call(text) = with_state(text)
  end

  module Second
    def self.call(text, metadata) = [text, metadata]
  end

  row("a module", gives: "x!") { Plain }
  row("a module whose helper's helper reads a mutable constant", refused: /MUTABLE/) { Deep }
  row("a class that remembers", refused: /@memo of MeaningTable::Memo/) { Memo }
  row("an attribute of a module", gives: "xxx") { ->(text) { text * Settings.multiplier } }
  row("an attribute of a module, not shareable", refused: /@limits of MeaningTable::Settings/) { ->(text) { Settings.limits[text] } }
  row("an attribute of a module is set", refused: /@unset of MeaningTable::Settings/) { ->(text) { Settings.unset = text } }
  row("define_method", refused: /call of .*define_method/) { Defined }
  row("an object whose part reads a mutable constant", refused: /MUTABLE/) { Holder.new(Parser.new(1).freeze).freeze }
  row("a frozen object", gives: "tag") { Tagger.new({"x" => "tag"}.freeze).freeze }
  row("an object that holds what is not frozen", refused: /task\.@tags/) { Tagger.new({"x" => "tag"}).freeze }
  row("an object that is not frozen", refused: /task.*not frozen/) { Tagger.new({}.freeze) }
  row("an object that changes itself", fails: "FrozenError") { Writer.new({}.freeze).freeze }
  row("metadata", gives: ["x", nil]) { Second }
  row("a pipeline", '{"id": 7}', gives: [7]) { Guildhall::JSON.lazy >> ->(doc) { [doc["id"]] } }
  row("a pipeline that drops", '{"id": 7}', gives: Guildhall::DROPPED) { Guildhall::JSON >> Guildhall.select { |doc| doc["paid"] } }
  row("a pipeline with a mutable constant", '{"id": 7}', refused: /MUTABLE/) { Guildhall::JSON >> ->(doc) { MUTABLE[doc["id"]] } }
  row("a codec", '{"id": 7}', gives: {"id" => 7}) { Guildhall::JSON }
  row("a pool in a task", refused: /pools live in the main Ractor/) { ->(_) { Guildhall::Pool.default.map([1], Plain) } }
  row("Timeout", gives: "X", refused34: /Timeout\.timeout.*Ruby 3\.4/) { ->(text) { Timeout.timeout(10) { text.upcase } } }

  # what comes back
  row("an Array that is not frozen", gives: [["x", {a: "x"}]]) { ->(text) { [[text + "", {a: text.dup}]] } }
  row("a Struct that is not frozen", gives: Holder.new("x")) { ->(text) { Holder.new(text.dup) } }
  row("a Set of what is not frozen", gives: {set: Set[["x"], Set["x"]]}) { ->(text) { {set: Set[[text.dup], Set[text.dup]]} } }
  row("a Time and a Set", gives: [Time.at(0), Set[1]]) { ->(_) { [Time.at(0), Set[1]] } }
  row("a structure in itself", gives: 1) { ->(_) { [].tap { |list| list << list } && 1 } }
  row("standard output", fails: "Guildhall::NotShareableError") { ->(_) { [+"", $stdout] } }
  row("a thread", fails: "Guildhall::NotShareableError") { ->(_) { {thread: Thread.current} } }
  row("a lambda as a result", fails: "Guildhall::NotShareableError") { ->(_) { -> {} } }
  row("a Hash with a default block", fails: "Guildhall::NotShareableError") { ->(_) { Hash.new { 1 } } }
  row("an exception's class", fails: "ZeroDivisionError") { ->(_) { 1 / 0 } }
  row("exit", fails: "SystemExit") { ->(_) { exit(3) } }
  row("throw", fails: "UncaughtThrowError") { ->(_) { throw(:nowhere) } }

  # control flow
  row("return in a block in a lambda", gives: "x") { ->(text) { [text].each { |one| return one } && "never" } }
  row("break in a block that is no lambda", fails: "LocalJumpError") { proc { |text| break text } }
  row("a retry", gives: 3) { ->(_) { tries = 0; begin; (tries += 1) < 3 ? raise : tries; rescue StandardError; retry; end } }
  row("catch", gives: 4) { ->(_) { catch(:out) { throw(:out, 4) } } }
  row("an exception in an ensure", fails: "ArgumentError") { ->(text) { begin; raise(text); ensure; raise(ArgumentError); end } }
  row("a Fiber", gives: 3, refused34: /Fiber\.new.*Ruby 3\.4/) { ->(_) { Fiber.new { 3 }.resume } }
  row("a flip-flop", gives: [2, 3], refused34: /flip-flop.*Ruby 3\.4/) { ->(_) { (1..5).select { |n| true if (n == 2)..(n == 3) } } } # rubocop:disable Lint/FlipFlop
  row("endless recursion", fails: "SystemStackError") { ->(_) { down = ->(n) { down.call(n + 1) }; down.call(0) } }
  row("an exception that is no StandardError", fails: "NoMemoryError") { ->(_) { raise(NoMemoryError) } }
  row("two parameters of a pair", [1, 2].freeze, gives: [1, 2]) { ->((one, two)) { [one, two] } }
  row("a payload is changed", fails: "FrozenError") { ->(text) { text << "y" } }

  # odd results
  class Label < String; end

  row("a String of another class, with a variable", gives: Label.new("x")) { ->(text) { Label.new(text).tap { |one| one.instance_variable_set(:@a, +"a") } } }
  row("DROPPED", gives: Guildhall::DROPPED) { ->(_) { Guildhall::DROPPED } }
  row("a class", gives: String) { ->(text) { text.class } }

  # Adds to a buffer of its own, and returns it.
  class Buffering
    def initialize = @buffer = []
    def call(text) = (@buffer.clear << text.dup)
  end

  row("a tool that returns its buffer", gives: ["x"]) { Guildhall::Task.per_worker(Buffering) }
  row("a tool that reads a mutable constant", refused: /MUTABLE/) { Guildhall::Task.per_worker(Lookups) }
  row("a memo of the thread", gives: ["x"]) { ->(text) { (Thread.current[:meaning] ||= []).clear << text.dup } }

  class Lookups
    def call(text) = MUTABLE[text]
  end

  # In which ways a batch may run.
  MODES = {
    "workers" => [{workers: 2}, {}], "parallel: true" => [{workers: 2}, {parallel: true}],
    "parallel: false" => [{workers: 2}, {parallel: false}], "no workers" => [{workers: 0}, {}],
    "inline" => [{workers: 2}, {}]
  }.freeze

  # @return [Array] what became of a batch of the case's payload: [:gives, value] …, or [:mixed, all of it]
  def self.outcome(pool, one, size, options)
    outcomes = pool.results([one.payload] * size, one.task, **options)
    seen = outcomes.map { |outcome| outcome.is_a?(Guildhall::Failure) ? [:fails, outcome.error_class] : [:gives, outcome] }.uniq
    frozen = outcomes.all? { |outcome| Ractor.shareable?(outcome) }
    seen.size == 1 && frozen ? seen.first : [:mixed, seen, frozen]
  rescue Guildhall::Error => error
    [:refused, error.message]
  end

  # @return [Array<String>] where a case came out otherwise than the table says
  def self.deviations(mode, seed)
    settings, options = MODES.fetch(mode)
    random = Random.new(seed)
    pool = Guildhall::Pool.new(**settings)
    CASES.shuffle(random:).flat_map do |one|
      Array.new(3) { 1 + random.rand(60) }.filter_map { |size| deviation(pool, one, size, options, mode) }
    end
  ensure
    pool&.shutdown(timeout: 10)
  end

  def self.deviation(pool, one, size, options, mode)
    found = mode == "inline" ? Guildhall::Pool.inline { outcome(pool, one, size, options) } : outcome(pool, one, size, options)
    kind, what = one.expected
    return if found[0] == kind && (kind == :refused ? found[1].match?(what) : found[1] == what)

    "#{mode}, #{size} payloads: #{one.name} was to be #{one.expected.inspect}, and was #{found.inspect[0, 400]}"
  end
end
# rubocop:enable Style/GlobalVars, Style/ClassVars, Style/Semicolon, Style/WordArray, Style/PerlBackrefs
