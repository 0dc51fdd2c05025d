# frozen_string_literal: true

require "stringio"

module Guildhall
  class Doctor
    # Runs a task on samples in a Ractor of its own, as a worker would.
    class Trial
      SECONDS = 30
      private_constant :SECONDS

      # @return [Array<Inspection::Finding>]
      attr_reader :findings
      # @return [Integer] payloads that were tried
      attr_reader :size
      # @return [Array<Failure>] of payloads that fail in the main Ractor, too
      attr_reader :failed_everywhere

      # @param task [#call]
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
      # @return [self]
      def run
        @task = Shareable.callable!(@task)
        judge(Child.new(SECONDS) { |writer| work(writer) })
        self
      rescue NotShareableError # which is among the findings by now
        self
      end

      # @return [Boolean] whether each payload was worked on as in the main Ractor
      def passed? = @size.positive? && @findings.empty?

      private

      # First everything in a Ractor; then in the main one what has failed there. Each as soon as it is known.
      def work(writer)
        outcomes = ractor
        Trial.write(writer, outcomes.map { |outcome| outcome && Trial.portable(outcome) })
        outcomes.each_with_index { |failure, index| Trial.write(writer, failure && everywhere?(failure, @payloads[index])) }
      end

      # @return [Array<Failure, nil>]
      def ractor
        ractor = Ractor.new(@task, @payloads, Callable.takes_metadata?(@task)) do |task, payloads, two|
          payloads.each_with_index.map do |payload, index|
            value = two ? task.call(payload, nil) : task.call(payload)
            Shareable.result(value, task) unless Ractor.shareable?(value)
            nil
          rescue Exception => error # rubocop:disable Lint/RescueException -- whatever a worker may come upon
            Failure.of(error, index)
          end.freeze
        end
        ractor.respond_to?(:value) ? ractor.value : ractor.take
      end

      # What fails in the main Ractor, too, is not a matter of Ractors.
      def everywhere?(failure, payload)
        Callable.takes_metadata?(@task) ? @task.call(payload, nil) : @task.call(payload)
        false
      rescue Exception => error # rubocop:disable Lint/RescueException -- as in the Ractor
        error.class.to_s == failure.error_class && failure.error_class != "SystemStackError"
      end

      def judge(child)
        stream = StringIO.new(child.output)
        outcomes, *everywhere = Array.new(@payloads.size + 1) { stream.eof? ? nil : Trial.read(stream) }
        return not_returned(child) unless outcomes

        @size = outcomes.size
        @failed_everywhere, failures = outcomes.zip(everywhere).select(&:first).partition(&:last).map { |pairs| pairs.map(&:first) }
        @findings.concat(failures.uniq { |failure| [failure.error_class, failure.message, failure.place] }
          .map { |failure| Explanation.new(failure, @visitor).finding })
      end

      def not_returned(child)
        problem, advice = if child.crash then ["crashes Ruby in a Ractor (#{child.crash})", Inspection::CALL_ELSEWHERE]
                          elsif child.late? then ["has not returned after #{SECONDS} s in a Ractor",
                                                  "look for a lock or a queue that it waits for, or a loop without an end"]
                          else ["ends the process (exit status #{child.left_with || 0})", "raise an error instead of calling exit!"]
                          end
        @findings << Inspection::Finding.new(thing: "task", file: nil, line: nil, problem:, advice:)
      end

      class << self
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
