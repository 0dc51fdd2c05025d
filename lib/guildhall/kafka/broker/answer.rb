# frozen_string_literal: true

module Guildhall
  module Kafka
    module Broker
      # What could not be answered, and why. topic: its name or pattern, nil where nothing of the group could be asked; partitions: numbers,
      # nil: all of it.
      Problem = Data.define(:group, :topic, :partitions, :error) do
        # @return [Boolean] whether there is no such topic
        def missing? = Errors.kind(error) == :missing && partitions.nil?

        # @return [String] one line: where, and why
        def to_s
          where = [*("group #{group}" if group), *topic].join(", ")
          "#{[where, *numbers].reject(&:empty?).join(" ")}: #{error.message}"
        end

        private

        # 0, 2-5
        def numbers
          return unless partitions

          runs = partitions.sort.slice_when { |before, after| after > before + 1 }
          "partition#{"s" if partitions.size > 1} #{runs.map { |run| [run.first, run.last].uniq.join("-") }.join(", ")}"
        end
      end

      # The rows that could be found out: an Array, with what could not.
      class Answer < Array
        # @return [Array<Problem>] one per topic and reason; also topics that are not there
        attr_reader :problems

        # @param problems [Array<Problem>] one for each partition
        def initialize(rows, problems)
          super(rows)
          @problems = Answer.grouped(problems)
        end

        # @return [Boolean] whether all that is there was answered
        def complete? = @problems.all?(&:missing?)

        def self.merge(answers) = new(answers.flat_map(&:to_a), answers.flat_map(&:problems))

        # @return [Array<Problem>] partitions of one topic together that have the same error
        def self.grouped(problems)
          problems.group_by { |one| [one.group, one.topic, Errors.symbol(one.error), one.partitions.nil?] }.map do |_, same|
            same.one? || same.first.partitions.nil? ? same.first : same.first.with(partitions: same.flat_map(&:partitions))
          end
        end
      end
    end
  end
end
