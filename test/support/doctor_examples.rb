# frozen_string_literal: true

require "guildhall/pool"
require "guildhall/json"
require "guildhall/pipeline"
require "logger"

# Tasks, modules and data, each with what the doctor is to find. On purpose as applications have them.
# rubocop:disable-next Style/GlobalVars, Style/ClassVars, Style/MutableConstant
module DoctorExamples
  Example = Data.define(:name, :object, :payloads, :things, :says)
  ALL = []

  def self.example(name, object, payloads: ["x"], finds: [], says: [])
    ALL << Example.new(name:, object:, payloads:, things: finds, says: [*says])
  end

  RATES = {"EUR" => 1.1}
  NESTED = {"limits" => [+"a", {"b" => Thread::Mutex.new}.freeze]}.freeze
  HANDLERS = {upcase: ->(text) { text.upcase }}.freeze
  HIDDEN = [+"hidden"]
  LOG = Thread::Queue.new
  $doctor_rate = 2
  $doctor_hidden = []

  module Plain
    def self.call(text) = text.upcase
  end

  module Rates
    def self.call(code) = RATES[code]
  end

  module Locked
    LOCK = Mutex.new
    def self.call(text) = LOCK.synchronize { text }
  end

  module Queued
    def self.call(text) = LOG << text
  end

  module Handled
    def self.call(text) = HANDLERS[:upcase].call(text)
  end

  module Globally
    def self.call(text) = text * $doctor_rate
  end

  class Counted
    @@count = 0
    def self.call(text) = text * (@@count += 1)
  end

  module Memoised
    def self.call(text) = cache[text] ||= text.upcase
    def self.cache = @cache ||= {}
  end

  module Configured
    class << self
      attr_accessor :settings

      def call(text) = @settings.fetch(text, text)
    end
    self.settings = {"a" => +"b"}
  end

  class Order
    def initialize(text) = @text = text
    def total = convert(RATES)
    def convert(rates) = rates.size + @text.size
  end

  module Following
    def self.call(text) = Order.new(text).total
  end

  class Dynamic
    define_singleton_method(:call) { |text| text }
  end

  class Rules
    def initialize(rules) = @rules = rules
    def call(text) = @rules.fetch(text, nil)
  end

  class Tool
    def call(text) = RATES[text]
  end

  module HiddenConstant
    def self.call(_text) = DoctorExamples.const_get(:HIDDEN).size
  end

  # The frame of a method in C lies above the one that says where.
  module HiddenVariable
    def self.call(text) = [self].each { |owner| owner.instance_variable_set(:@last, text) }
  end

  module HiddenGlobal
    def self.call(_text) = eval("$doctor_hidden", binding, __FILE__, __LINE__)
  end

  # Through a method in C, which takes stack of the machine: a worker has an eighth of the main Ractor's.
  module Deep
    def self.call(depth) = depth.zero? ? 0 : [depth].sum { |number| 1 + call(number - 1) }
  end

  # Answers differently while another Ractor is at it.
  module Racing
    def self.call(_text) = Ractor.count > 2 ? 1 : 0
  end

  # Of which each thread has its own.
  module Tenant
    def self.call(text) = [text, Thread.current[:doctor_tenant]]
  end

  module Printing
    def self.call(text) = (puts "printed") || text
  end

  module Leaving
    def self.call(_text) = Thread.exit
  end

  module Slow
    def self.call(text) = sleep(5) && text
  end

  module Looping
    def self.call(_text) = loop { nil }
  end

  module Ending
    def self.call(_text) = exit!(3)
  end

  module Aborting
    def self.call(_text) = exit
  end

  module Dice
    def self.call(_text) = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
  end

  # As an extension would that is not what it says: not in the first Ractor, but in the ones after it.
  module Crashing
    def self.call(text)
      Process.kill(:SEGV, Process.pid) if Ractor.count > 2
      text
    end
  end

  def self.lambda_with(value) = ->(text) { [text, value] }

  module Surroundings
    CACHE = {}.freeze
    def self.frozen_lambda = ->(text) { CACHE.fetch(text, text) }
  end

  class Instance
    def initialize = @prefix = +"p"
    def task = ->(text) { @prefix + text }
  end

  # Raises before it comes to what is not shareable, in Ruby's library.
  module Picky
    def self.call(text) = text.empty? ? text : Logger::Severity.coerce(Integer(text))
  end

  module Changing
    def self.call(text) = text.upcase!
  end

  # Something else is frozen, in the main Ractor too.
  module Careful
    def self.call(text) = "" << text
  end

  module Making
    def self.call(text) = Class.new { def call(text) = text }.new.call(text)
  end

  class Autoloading
    autoload :DoctorLater, "#{__dir__}/doctor_later.rb"
    def self.call(text) = text * DoctorLater::TIMES
  end

  example "a module that runs", Plain
  example "a mutable constant", Rates, finds: ["RATES"], says: [/RATES.*doctor_examples\.rb:\d+\n +is a Hash that is not shareable\n +→ make it so/]
  example "a lock in a constant", Locked, finds: ["LOCK"], says: [/Thread::Mutex.*\n.*combine it in the main Ractor/]
  example "a queue in a constant", Queued, finds: ["LOG"], says: [/use Guildhall::Queue/]
  example "closures in a constant", Handled, finds: ["HANDLERS"]
  example "a global variable", Globally, finds: ["$doctor_rate"], says: [/is a global variable/]
  example "a class variable", Counted, finds: ["@@count of DoctorExamples::Counted"]
  example "a memo of a class", Memoised, finds: ["@cache of DoctorExamples::Memoised"], says: [/per_worker/]
  example "a setting of a class", Configured, finds: ["@settings of DoctorExamples::Configured"]
  example "a constant that a method of a new object reads", Following, finds: ["RATES"]
  example "a method made of a block", Dynamic, finds: ["call of #<Class:DoctorExamples::Dynamic>"], says: [/use def/]
  example "an object that is not frozen", Rules.new({}.freeze), finds: ["task"], says: [/freeze it/]
  example "an object that holds what is not frozen", Rules.new({"x" => +"y"}.freeze).freeze, finds: ['task.@rules["x"]']
  example "an object that is shareable", Ractor.make_shareable(Rules.new({"x" => "y"}))
  example "a lambda that captures a Hash", lambda_with({"a" => 1}), finds: ["task's variable value"]
  example "a lambda that captures deeply", lambda_with([1, ["b", +"c"].freeze].freeze), finds: ["task's variable value[1][1]"]
  example "a lambda that captures what is frozen", Surroundings.frozen_lambda
  example "a lambda that needs an object", Instance.new.task, finds: ["@prefix"], says: [/needs self/]
  example "a pipeline", Guildhall::JSON.lazy >> Guildhall.map { |order| order["id"] }, payloads: ['{"id": 7}']
  example "a pipeline with a mutable constant", Guildhall::JSON >> Guildhall.map { |order| RATES[order["id"]] }, payloads: ['{"id": 7}'],
    finds: ["RATES"]
  example "a tool for each worker", Guildhall::Task.per_worker(Tool), finds: ["RATES"]
  example "what is loaded late", Autoloading, says: [/can run/, /DoctorLater.*is loaded when it is first named/]
  example "a class that is made in the task", Making
  example "data", {"a" => [+"b", 1].freeze}.freeze, payloads: [], finds: ['object["a"][0]']
  example "data with what cannot be shared", [$stdout].freeze, payloads: [], finds: ["object[0]"], says: [/is an IO, which cannot be shared/]
end
