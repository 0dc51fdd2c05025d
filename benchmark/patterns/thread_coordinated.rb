# frozen_string_literal: true

require_relative "work"

module Patterns
  # As published: worker Ractors, and for each a thread of the main Ractor that hands it slices of a queue and waits for what comes back.
  # The threads need the GVL of the main Ractor for every slice.
  class ThreadCoordinated
    SLICE = 20

    def initialize(workers)
      @queue = Thread::Queue.new
      @threads = Array.new(workers) { Thread.new { coordinate } }
    end

    def map(texts)
      slices = texts.each_slice(SLICE).map { |slice| Ractor.make_shareable(slice) }
      done = Thread::Queue.new
      slices.each_with_index { |slice, index| @queue << [slice, index, done] }
      Array.new(slices.size) { done.pop }.sort_by(&:first).flat_map(&:last)
    end

    def close
      @queue.close
      @threads.each(&:join)
    end

    private

    def coordinate
      port = Ractor::Port.new if PORTS
      worker = start(port)
      while (slice, index, done = @queue.pop)
        worker.send(slice)
        done << [index, port ? port.receive : worker.take]
      end
      worker.send(nil)
    end

    def start(port)
      Ractor.new(port) do |answers|
        while (slice = Ractor.receive)
          answers ? answers.send(Work.call(slice)) : Ractor.yield(Work.call(slice))
        end
      end
    end
  end
end
