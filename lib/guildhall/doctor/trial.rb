# frozen_string_literal: true

require "stringio"
require "guildhall/native_threads"

module Guildhall
  class Doctor
    # Runs a task on samples in a Ractor of its own, as a worker would.
    # @api private
    class Trial
      SECONDS = 30
      ENOUGH = 8 # seconds of calling, in a Ractor and then in the main one: payloads that are left then are not tried
      ENDED = :ended
      SHOWN = 60 # characters of a result
      private_constant :SECONDS, :ENOUGH, :ENDED, :SHOWN

      attr_reader :findings
      # @return [Integer] payloads that were tried
      attr_reader :size
      # @return [Array<Failure>] of payloads that fail in the main Ractor, too
      attr_reader :failed_everywhere

      # @param payloads [Array] shareable
      # @param visitor [Visitor] what it has found explains errors
      def initialize(task, payloads, visitor)
        @task = task
        @payloads = payloads.dup.freeze
        @visitor = visitor
        @findings = []
        @failed_everywhere = []
        @size = 0
      end

      # Blocks while the payloads are worked on, in a process of its own: what is not made for Ractors may crash Ruby, then or later.
      # @raise [ConfigurationError] where Ruby runs no Ractors
      def run
        NativeThreads.check!
        @task = Shareable.callable!(@task)
        judge(Child.new(SECONDS) { |writer| work(writer) })
        self
      rescue NotShareableError # which is among the findings by now
        self
      end

      # @return [Boolean] whether each payload was worked on as in the main Ractor
      def passed? = @size.positive? && @findings.empty?

      # @return [Boolean] whether that shows anything: payloads for which the task raises anyway do not get far
      def shows? = passed? && @failed_everywhere.size < @size

      private

      # First everything in a Ractor; then the same in the main one. Each as soon as it is known.
      def work(writer)
        outcomes = ractor || (return Trial.write(writer, ENDED))
        Trial.write(writer, outcomes.map { |outcome| Trial.portable(outcome) if outcome.is_a?(Failure) })
        limit = Clock.now + ENOUGH
        outcomes.zip(@payloads) do |outcome, payload|
          Trial.write(writer, outcome.is_a?(Failure) ? everywhere?(outcome, payload) : (different(outcome, payload) if Clock.now < limit))
        end
      end

      # @return [Array<Failure, String>, nil] what payloads became; nil: the Ractor has ended
      def ractor
        ractor = Ractor.new(@task, @payloads, Clock.now + ENOUGH) do |task, payloads, limit|
          payloads.each_with_index.lazy.take_while { |_, index| index.zero? || Clock.now < limit }
            .map { |payload, index| Trial.outcome(task, payload, index) }.to_a.freeze
        end
        ractor.respond_to?(:value) ? ractor.value : ractor.take
      end

      # A payload that fails in the main Ractor, too, says nothing about Ractors.
      def everywhere?(failure, payload)
        error = Trial.outcome(@task, payload, 0)
        error.is_a?(Failure) && error.error_class == failure.error_class && error.error_class != "SystemStackError" &&
          !(error.error_class == "FrozenError" && changes?(payload))
      end

      # @return [Boolean] whether the task could work on the payload if that were not frozen
      def changes?(payload) = !Trial.outcome(@task, payload.dup, 0).is_a?(Failure)

      # @return [String, nil] what it is in the main Ractor; nil: the same, or it differs from call to call there, too
      def different(outcome, payload)
        here = Stress.outcome(@task, payload)
        return if [here, nil].include?(outcome) || here != Stress.outcome(@task, payload)

        [outcome, here].map { |text| Printable.words(text, SHOWN) }.join(", not ")
      end

      def judge(child)
        stream = StringIO.new(child.output)
        outcomes, *here = Array.new(@payloads.size + 1) { stream.eof? ? nil : Trial.read(stream) }
        return not_returned(child, outcomes) unless outcomes.is_a?(Array)

        @size = outcomes.size
        @failed_everywhere, failures = outcomes.zip(here).select(&:first).partition(&:last).map { |pairs| pairs.map(&:first) }
        @findings.concat(failures.uniq { |failure| [failure.error_class, failure.message, failure.place] }
          .map { |failure| Explanation.new(failure, @visitor).finding })
        differs(outcomes.zip(here).filter_map { |failure, text| text unless failure })
      end

      def differs(texts)
        return if texts.empty?

        add("gives other results in a Ractor than in the main one, for #{texts.size} of #{@size} payloads: #{texts.first}",
          "look for what each Ractor, or thread, has of its own, such as `Thread.current[…]`, and hand it over in the payload")
      end

      def not_returned(child, outcomes)
        problem, advice = if outcomes == ENDED then ["ends the Ractor that runs it (Thread.exit)", "return, or raise an error"]
                          elsif child.crash then ["crashes Ruby in a Ractor (#{child.crash})", Inspection::CALL_ELSEWHERE]
                          elsif child.late? then ["has not returned after #{SECONDS} s in a Ractor",
                                                  "look for a lock or a queue that it waits for, or a loop without an end"]
                          else ["ends the process (exit status #{child.left_with || 0})", "raise an error instead of calling exit!"]
                          end
        add(problem, advice)
      end

      def add(problem, advice)
        @findings << Inspection::Finding.new(thing: "task", file: nil, line: nil, problem:, advice:)
      end

      class << self
        # @api private
        # @return [Failure, String] of a call as a worker makes it
        def outcome(task, payload, index)
          value = Callable.takes_metadata?(task) ? task.call(payload, nil) : task.call(payload)
          Shareable.result(value, task) unless Ractor.shareable?(value)
          Stress.text(value)
        rescue Exception => error # rubocop:disable Lint/RescueException -- whatever a worker may come upon
          Failure.of(error, index)
        end

        # @api private
        def write(writer, object) = Marshal.dump(object, writer)

        # @api private
        def read(stream) = Marshal.load(stream) # rubocop:disable Security/MarshalLoad -- our own child

        # @api private
        # @return [Failure] without what an application's exception may hold
        def portable(failure)
          failure.with(details: {}.freeze, cause: failure.cause && portable(failure.cause))
        end
      end
    end
  end
end
