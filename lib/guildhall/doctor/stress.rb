# frozen_string_literal: true

require "guildhall/queue"

module Guildhall
  class Doctor
    # Calls a task from several Ractors at once, in a process of its own: an extension that says that it is Ractor-safe may still crash,
    # or answer differently.
    # @api private
    class Stress
      SECONDS = 1 # of calling
      LIMIT = 60 # until the process is given up
      private_constant :SECONDS, :LIMIT

      # @return [Integer] Ractors
      attr_reader :ractors
      # @return [Integer] calls that were made; 0 after a crash
      attr_reader :calls
      # @return [Integer] payloads whose results were compared: those that give the same twice in the main Ractor
      attr_reader :compared
      # @return [String, nil] nil: nothing was found
      attr_reader :problem

      # @param payloads [Array] shareable
      def initialize(task, payloads, ractors)
        @task = Shareable.callable!(task)
        @payloads = payloads.freeze
        @ractors = ractors
        @calls = @compared = 0
      end

      # Blocks for some seconds.
      def run
        judge(Child.new(LIMIT) { |writer| work(writer) })
        self
      end

      def passed? = @problem.nil?

      def finding
        return unless @problem

        Inspection::Finding.new(thing: "task", file: nil, line: nil, problem: @problem,
          advice: "do not call it from several workers: Guildhall::Pool.new(workers: 1), or something else in the task")
      end

      # @api private
      # @return [String] of what a payload became: comparable wherever it was made
      def self.outcome(task, payload)
        text(Callable.takes_metadata?(task) ? task.call(payload, nil) : task.call(payload))
      rescue Exception => error # rubocop:disable Lint/RescueException -- as in {Trial}
        error.class.to_s
      end

      # @api private
      # @return [String, nil] frozen; of what has no order and is no collection, the class; nil: it cannot be written
      def self.text(value)
        (value.is_a?(Comparable) || value.respond_to?(:to_hash) || value.is_a?(Array) ? value.inspect : value.class.to_s).freeze
      rescue StandardError
        nil
      end

      private

      def work(writer)
        expected = Ractor.make_shareable(@payloads.map { |payload| expected_of(payload) })
        started = Queue.new(@ractors)
        ractors = Array.new(@ractors) { start(@task, @payloads, expected, started) }
        writer.puts(expected.compact.size)
        writer.write(ractors.map { |ractor| (ractor.respond_to?(:value) ? ractor.value : ractor.take).join(" ") }.join("\n"))
      rescue Exception => error # rubocop:disable Lint/RescueException -- the process does nothing else
        writer.write("raised #{error.class}: #{Redaction.message(error)}")
      end

      # @return [String, nil] nil: it differs from call to call, wherever it is made
      def expected_of(payload)
        outcome = Stress.outcome(@task, payload)
        outcome if outcome == Stress.outcome(@task, payload)
      end

      # They begin together: on a busy machine the first could have ended before the last has begun.
      def start(task, payloads, expected, started)
        Ractor.new(task, payloads, expected, started) do |one, all, right, queue|
          queue.push(true)
          sleep(0.001) until queue.size == queue.capacity
          limit = Clock.now + SECONDS
          calls = different = 0
          while Clock.now < limit
            all.zip(right) do |payload, wanted|
              found = Stress.outcome(one, payload)
              different += 1 if wanted && found && found != wanted
            end
            calls += all.size
          end
          [calls, different]
        end
      end

      def judge(child)
        at_once = "when #{@ractors} Ractors call it at once"
        return @problem = "crashes Ruby (#{child.crash}) #{at_once}" if child.crash
        return @problem = "has not returned after #{LIMIT} s #{at_once}" if child.late?
        return @problem = "ends the process (exit status #{child.left_with}) #{at_once}" if child.left_with
        return @problem = "#{child.output} #{at_once}" unless child.output.match?(/\A\d+\n\d+ \d+/)

        compared, *counts = child.output.lines
        @compared = compared.to_i
        @calls, different = counts.map { |line| line.split.map(&:to_i) }.transpose.map(&:sum)
        @problem = "gives other results than in the main Ractor in #{different} of #{@calls} calls #{at_once}" if different.positive?
      end
    end
  end
end
