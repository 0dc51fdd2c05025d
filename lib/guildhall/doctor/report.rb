# frozen_string_literal: true

module Guildhall
  class Doctor
    # The doctor's findings and suspicions, with the verdict that follows.
    class Report
      SHOWN = 20 # suspicions
      private_constant :SHOWN

      attr_reader :name, :stress
      # @return [Array<Inspection::Finding>] what keeps it from running on workers
      attr_reader :findings
      # @return [Array<Inspection::Finding>] what may keep it from running there: in gems, where a payload may or may not reach it
      attr_reader :suspicions
      # @return [Trial, nil] nil: there were no payloads
      attr_reader :trial

      # @param task [Boolean] whether it could be tried
      def initialize(name:, findings:, suspicions:, trial:, stress:, task: false)
        @name = name
        @findings = [*findings, *stress&.finding].uniq(&:thing).freeze
        @suspicions = (suspicions.uniq(&:thing) - @findings).freeze
        @trial = trial
        @stress = stress
        @task = task
        freeze
      end

      # @return [Symbol] :cannot_run (something was found), :may_fail (something is suspected, and no sample has passed), :runs
      def verdict
        return :cannot_run if @findings.any?

        @suspicions.any? && !@trial&.shows? ? :may_fail : :runs
      end

      def runs? = verdict == :runs

      # @return [String] for people
      def to_s
        [headline, *section(@findings), *suspected, *tried].join("\n")
      end

      # @return [Hash{String=>Object}] for JSON
      def to_h
        {"object" => @name, "verdict" => verdict.to_s, "findings" => rows(@findings), "suspicions" => rows(@suspicions),
         "payloads_tried" => @trial ? @trial.size : 0, "payloads_failed" => @trial&.failed_everywhere&.size,
         "stress_calls" => @stress&.calls}.compact
      end

      private

      def rows(findings) = findings.map { |finding| finding.to_h.transform_keys(&:to_s).compact }

      def headline
        {cannot_run: "#{@name} cannot run on workers: #{Printable.count(@findings.size, "finding")}",
         may_fail: "#{@name} may fail on workers: #{Printable.count(@suspicions.size, "suspicion")}",
         runs: @trial ? "#{@name} can run on workers" : "#{@name}: nothing was found that keeps it from running on workers"}.fetch(verdict)
      end

      def section(findings)
        findings.flat_map do |finding|
          ["", "  #{[finding.thing, finding.place].compact.join("  ")}", "    #{finding.problem}", "    → #{finding.advice}"]
        end
      end

      def suspected
        return [] if @suspicions.empty?

        head = if @trial&.shows? then "not reached by the payloads"
               else "suspected, in code of gems or of Ruby; payloads would show whether they get there"
               end
        more = "  and #{@suspicions.size - SHOWN} more (--json lists all)" if @suspicions.size > SHOWN
        ["", "  #{head}:", *@suspicions.first(SHOWN).map { |finding| "    #{finding}" }, *more]
      end

      def tried
        return untried unless @trial

        passed = "#{Printable.count(@trial.size, "payload")} in a Ractor, as in the main one#{failed}"
        lines = ["", "  tried: #{@trial.passed? ? passed : "it failed in a Ractor"}"]
        lines << "  stress: #{@stress.calls} calls from #{@stress.ractors} Ractors at once, #{alike}" if @stress&.passed?
        lines
      end

      def untried
        return [] unless verdict == :runs && @task

        ["", "  not tried: payloads would show what calls lead to that cannot be followed"]
      end

      # A task that raises for each payload has shown little.
      def failed
        failures = @trial.failed_everywhere
        ", where #{failures.size} of them raise#{"s" if failures.one?}, too (#{failures.first.summary})" if failures.any?
      end

      def alike
        missing = @trial.size - @stress.compared
        return "all alike" if missing.zero?

        "#{Printable.count(missing, "payload")} not compared, because results differ from call to call in the main Ractor, too"
      end
    end
  end
end
