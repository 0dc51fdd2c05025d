# frozen_string_literal: true

class Bench
  # The time of a round trip to a Ractor that has been idle for a while: ours beside Ractor::Port, without the idle time.
  class Latency
    # @param trips [Integer] a round
    # @param idle [Float] seconds before each trip
    def initialize(trips, idle)
      @trips = trips
      @idle = idle
    end

    # @return [Float] the time of a Port's trip over that of ours, medians of trips, the median of rounds
    def ratio(rounds)
      ratios = Array.new(rounds) { |round| round.odd? ? ports / queues : 1 / (queues / ports) }
      ratios.sort[rounds / 2]
    end

    private

    def queues
      there, back = Array.new(2) { Guildhall::Queue.new(16) }
      echo = Ractor.new(there, back) { |from, to| from.each { |item| to.push(item) } }
      median do |item|
        there.push(item)
        back.pop
      end
    ensure
      there.close
      echo.value
    end

    def ports
      home = Ractor::Port.new
      echo = Ractor.new(home) { |to| while (item = Ractor.receive) do to.send(item) end }
      median do |item|
        echo.send(item)
        home.receive
      end
    ensure
      echo.send(nil)
      echo.value
    end

    def median
      times = Array.new(@trips) do |item|
        sleep(@idle)
        began = Process.clock_gettime(Process::CLOCK_MONOTONIC)
        raise "wrong answer" unless yield(item) == item

        Process.clock_gettime(Process::CLOCK_MONOTONIC) - began
      end
      times.sort[@trips / 2]
    end
  end
end
