# frozen_string_literal: true

require_relative "../health"

module Guildhall
  module Kafka
    class Swarm
      # What the parent says to those that watch it, for all its processes.
      class Health
        # @param swarm [#state] :running, :quiet or :stopping
        def initialize(children, swarm)
          @children = children
          @swarm = swarm
        end

        # At least one process runs and is alive: the parent replaces the others itself.
        def live
          problems = problems(&:sick)
          answer(problems.map(&:first).uniq.size < @children.size ? [] : problems)
        end

        # Each process is ready.
        def ready
          @swarm.state == :running ? answer(problems(&:unready)) : Kafka::Health::Answer.new(problems: ["draining"])
        end

        private

        # @return [Array<Array(Integer, String)>] the process's number, and what is wrong
        def problems
          @children.flat_map { |child| (child.running? ? yield(child) : ["does not run"]).map { |problem| [child.number, problem] } }
        end

        def answer(problems)
          Kafka::Health::Answer.new(problems: problems.map { |number, problem| "process #{number}: #{problem}" })
        end
      end
    end
  end
end
