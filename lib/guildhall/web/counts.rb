# frozen_string_literal: true

require "guildhall/printable"

module Guildhall
  class Web
    # What the menu says beside its pages.
    # @api private
    module Counts
      class << self
        # @param reports [Reports::View]
        # @return [Hash{String, nil=>Array(String, Integer, String)}] by the first part of a page's path: "bad" or "warn", how many, and of
        #   what
        def of(reports)
          urgent = reports.attention.reject { |item| item.severity == :note }
          of_topics, others = urgent.partition(&:partitions)
          {nil => items(urgent, "thing that needs attention", "things that need attention"),
           "groups" => items(of_topics, "entry of partitions that need attention", "entries of partitions that need attention"),
           "processes" => items(others.select { |item| item.process || item.label == "silence" }, "process that needs attention",
             "processes that need attention"),
           "dead-letters" => items(labelled(others, "dead letters"), "topic with dead letters in the last hour",
             "topics with dead letters in the last hour"),
           "errors" => count("warn", reports.causes.count { |cause| cause.recent(reports.now).positive? },
             "cause of errors in the last ten minutes", "causes of errors in the last ten minutes"),
           "schedule" => items(labelled(others, "task failed"), "task that failed in the last hour",
             "tasks that failed in the last hour")}.compact
        end

        private

        def labelled(items, label) = items.select { |item| item.label == label }
        def items(some, *words) = count(some.any? { |item| item.severity == :bad } ? "bad" : "warn", some.size, *words)
        def count(kind, number, *words) = ([kind, number, Printable.count(number, *words)] if number.positive?)
      end
    end
  end
end
