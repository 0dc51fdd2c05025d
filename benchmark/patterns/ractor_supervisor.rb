# frozen_string_literal: true

require_relative "work"

module Patterns
  # A Ractor hands out slices to workers that ask for them, so that no thread of the main Ractor does; every slice and every result passes
  # through the supervisor's mailbox.
  class RactorSupervisor
    SLICE = 20

    def initialize(workers)
      @inbox = PoolPeers.inbox
      @supervisor = start(@inbox)
      @workers = Array.new(workers) { work_for(@supervisor) }
    end

    def map(texts)
      slices = texts.each_slice(SLICE).to_a
      @supervisor.send(Ractor.make_shareable([:batch, slices]))
      Array.new(slices.size) { PoolPeers.take(@inbox) }.sort_by(&:first).flat_map(&:last)
    end

    def close
      @supervisor.send([:close].freeze)
    end

    private

    def start(inbox)
      Ractor.new(inbox) do |answers|
        waiting = []
        idle = []
        loop do
          kind, what, index, result = Ractor.receive
          case kind
          when :batch then what.each_with_index { |slice, number| waiting << [number, slice].freeze }
          when :ready
            answers.send([index, result].freeze) if index
            idle << what
          when :close then break idle.each { |worker| worker.send(nil) }
          end
          idle.shift.send(waiting.shift) while idle.any? && waiting.any?
        end
      end
    end

    def work_for(supervisor)
      Ractor.new(supervisor) do |boss|
        boss.send([:ready, Ractor.current].freeze)
        while (index, slice = Ractor.receive)
          boss.send([:ready, Ractor.current, index, Work.call(slice)].freeze)
        end
      end
    end
  end
end
