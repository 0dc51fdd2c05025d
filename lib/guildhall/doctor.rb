# frozen_string_literal: true

require "guildhall/clock"
require "guildhall/errors"
require "guildhall/callable"
require "guildhall/shareable"
require "guildhall/failure"
require "guildhall/suggestion"

module Guildhall
  # Explains why something cannot run on workers, and tries it: see docs/doctor.md.
  #
  # It reads what the pool reads of a task at its first dispatch ({Inspection}), and farther: into gems and Ruby's library. What it
  # finds there, it only suspects: a payload may never reach that code.
  class Doctor
    # @param object [Object] see {Guildhall.doctor}
    # @param payloads [Array] samples
    # @param stress [Integer, nil] Ractors that call it at once
    def initialize(object, payloads: [], stress: nil)
      @object = object
      @payloads = payloads.map { |payload| Ractor.shareable?(payload) ? payload : Ractor.make_shareable(payload, copy: true) }
      @stress = stress
      @task = !object.is_a?(Modules) && object.respond_to?(:call)
      check
    end

    # Blocks while it reads, and while the trials run. Main Ractor.
    def examine
      visitor = visit
      trial = Trial.new(@object, @payloads, visitor).run if @task && @payloads.any?
      stress = Stress.new(@object, @payloads, @stress).run if @stress && trial.passed?
      Report.new(name:, findings: findings(visitor, trial), suspicions: visitor.suspicions, trial:, stress:, task: @task)
    end

    private

    def check
      raise WrongRactorError, "the doctor works in the main Ractor" unless Ractor.main?
      raise Guildhall::ArgumentError, "#{name} has no method `call`, so it is not a task: leave out payloads" if @payloads.any? && !@task
      return if @stress.nil?
      raise Guildhall::ArgumentError, "stress is a number of Ractors, 2 or more, not #{@stress.inspect}" unless
        @stress.is_a?(Integer) && @stress >= 2
      raise Guildhall::ArgumentError, "stress needs payloads to call the task with" if @payloads.empty?
    end

    def name
      return @object.name if @object.is_a?(Modules)

      Inspection.name_of(@object)
    end

    # A payload that passed counts more than a verdict about a gem.
    def findings(visitor, trial)
      [*unshareable(visitor), *visitor.findings, *trial&.findings, *(visitor.known_gems unless trial&.shows?)]
    end

    def visit
      visitor = Visitor.new
      if @object.is_a?(Modules) then @object.read(visitor)
      elsif @task then visitor.task(@object)
      elsif @object.is_a?(Module) then visitor.modules([@object])
      end
      visitor
    end

    # @return [Array<Inspection::Finding>] for each part that is not shareable
    def unshareable(visitor)
      return [] if @object.is_a?(Modules)
      return captured(visitor) if @object.is_a?(Proc)

      Shareable.all(@object, @task ? "task" : "object").flat_map do |path, culprit|
        problem, advice = Shareable.describe(culprit)
        [finding(path, culprit, "is #{problem}", advice), *(captures(path, culprit) if culprit.is_a?(Proc))]
      end
    end

    # A block of the application's becomes shareable by itself, if what it captures is.
    def captured(visitor)
      Shareable.callable!(@object)
      []
    rescue NotShareableError => error
      found = captures("task", @object)
      return found if found.any? || visitor.findings.any? { |one| one.problem.start_with?(Inspection::NEEDS_SELF) }

      [finding(error.path || "task", @object, error.message.delete_prefix("#{error.path} "), "use a frozen object with `call`")]
    end

    # @return [Array<Inspection::Finding>] variables around a block that are not shareable
    def captures(path, block)
      code = RubyVM::InstructionSequence.of(block) or return []

      names = Inspection::Block.new(code).variables & block.binding.local_variables
      names.filter_map do |name|
        value = block.binding.local_variable_get(name)
        next if Ractor.shareable?(value)

        inner, culprit = Shareable.find(value, name.to_s)
        problem, advice = Shareable.describe(culprit)
        finding("#{path}'s variable #{inner}", block, "is #{problem}", advice)
      end
    rescue ::ArgumentError # made of a shareable block
      []
    end

    def finding(thing, object, problem, advice)
      file, line = object.source_location if object.is_a?(Proc)
      Inspection::Finding.new(thing:, file:, line:, problem:, advice:)
    end
  end
end

require_relative "doctor/origin"
require_relative "doctor/visitor"
require_relative "doctor/explanation"
require_relative "doctor/child"
require_relative "doctor/trial"
require_relative "doctor/stress"
require_relative "doctor/report"
require_relative "doctor/modules"
