# frozen_string_literal: true

require "guildhall/clock"
require "guildhall/errors"
require "guildhall/pool"
require "guildhall/pipeline"

module Guildhall
  # Measures a user's task on the user's payloads, on this machine: whether workers pay, from which batch size, how many, eager or lazy.
  class Advisor
    BATCHES = [1, 5, 10, 25, 50, 100, 250, 500, 1000].freeze
    SECONDS = 0.04 # one measurement, about
    ROUNDS = 5
    # @api private
    SAMPLES = 2000 # payloads at most
    WASTE = 1.1 # a gain below this is none
    CLASSES = 3 # of sizes
    TRIES = 3
    CONFIRMATION = 3 # times as many rounds for what is promised
    MAX_WORKERS = 256
    LEAST = 20 # payloads of a measurement, where they take no longer than LEAST_SECONDS
    LEAST_SECONDS = 0.2
    BUDGET = 15 # seconds for all batches on one pool, about: slow tasks are measured in smaller batches only
    RAISED = [StandardError, ScriptError, SystemExit, SystemStackError].freeze # what may come from a task, and is not for this process
    FEWEST = 2 # sizes of batches, however slow a task is
    private_constant :SECONDS, :CLASSES, :TRIES, :CONFIRMATION, :MAX_WORKERS, :LEAST, :LEAST_SECONDS, :BUDGET, :FEWEST, :RAISED

    # @param payloads [Array<String, Object>] samples, the more the better
    # @param workers [Integer, nil] the maximum; nil: the number that a pool has by default
    # @param rounds [Integer] of each measurement; the median counts
    # @param batches [Array<Integer>] sizes of batches to try
    # @param progress [true, String, #call, nil] see {Pool#map}
    # @param clock [#now] seconds: what the task and its variants are compared by
    # @raise [ConfigurationError] where Ruby runs no Ractors
    def initialize(task, payloads, workers: nil, rounds: ROUNDS, batches: BATCHES, progress: nil, clock: Clock)
      NativeThreads.check!
      raise Guildhall::ArgumentError, "advise needs payloads" if payloads.empty?
      raise Guildhall::ArgumentError, "workers must be 1 to #{MAX_WORKERS}, not #{workers}" unless (workers || 1).between?(1, MAX_WORKERS)
      raise Guildhall::ArgumentError, "a task needs the method `call`; #{Inspection.name_of(task)} has none" unless task.respond_to?(:call)

      @variants = Variants.of(task)
      @payloads = Payloads.new(payloads.first(SAMPLES))
      @workers = Advisor.steps(workers || Pool::Settings.default_workers)
      @rounds = rounds
      @batches = batches.sort
      @progress = progress
      @clock = clock
    end

    # @return [Array<Integer>] 1, 2, 4 … up to it
    def self.steps(most)
      [*(0..).lazy.map { |power| 2**power }.take_while { |count| count < most }, most].uniq
    end

    # @api private
    # @return [Integer] payloads of one measurement
    def self.enough(cost, size)
      least = (LEAST_SECONDS / cost.seconds).clamp(1, LEAST).to_i
      [(SECONDS / cost.seconds).ceil, size, least].max.clamp(size, [size * 200, 20_000].max)
    end

    # Blocks while it measures: some seconds. Starts pools, and ends them. Main Ractor.
    # @raise [IsolationError, NotShareableError] for a task that cannot run on workers: the doctor has more to say of it
    def advise
      @variants.each_value { |task| Shareable.callable!(task) && Inspection.of(task).check! }
      sieve = Sieve.new(@variants.values.first, @payloads)
      @payloads = sieve.sound
      cost = Cost.new(@variants.values.first, @payloads).measure
      if cost.reason
        sieve = nil unless cost.reason == :io_bound # of a task that raises there is more to say
        return Advice.new(variants: @variants, payloads: @payloads, cost:, reason: cost.reason, sieve:)
      end

      with_pools do |pools|
        cells = measure(pools, @variants, @payloads, cost)
        cells, best, uncertain = confirmed(pools, cells, cost)
        Advice.new(variants: @variants, payloads: @payloads, cost:, cells:, best:, uncertain:, sieve:,
          handover: pools.values.last.report.handover_seconds, table: table(pools, best, cells))
      end
    end

    private

    def measure(pools, variants, payloads, cost, workers: [0, *@workers])
      batches = affordable(cost)
      grid = variants.keys.product(workers, batches).reject do |name, count, size|
        count.zero? && (name == :given || size > batches.first)
      end
      progress = Pool::Progress.of(@progress, grid.size)
      grid.map { |way| cell(pools, payloads, cost, *way, @rounds).tap { progress&.add } }
    ensure
      progress&.finish
    end

    # @return [Array<Integer>] sizes of batches
    def affordable(cost)
      left = BUDGET
      @batches.take_while.with_index do |size, index|
        left -= Advisor.enough(cost, size) * cost.seconds * 2 * @rounds
        left.positive? || index < FEWEST
      end
    end

    def cell(pools, payloads, cost, name, count, size, rounds)
      trial = Comparison.new(@variants.values.first, @variants.fetch(name), pools[count],
        payloads.batches(size, Advisor.enough(cost, size)), @clock)
      Cell.new(variant: name, workers: count, batch: size, gains: trial.gains(rounds))
    end

    # The best of many measurements was lucky, too: what is promised is measured once more.
    # @return [Array(Array<Cell>, Cell, Cell)] the one that pays, in each round; else the last one that does in most, if there is one
    def confirmed(pools, cells, cost)
      uncertain = nil
      TRIES.times do
        best = Choice.of(cells) or break
        again = cell(pools, @payloads, cost, best.variant, best.workers, best.batch, @rounds * CONFIRMATION)
        cells = cells.map { |one| one.equal?(best) ? again : one }
        return [cells, again, nil] if again.certain?

        uncertain = again if again.pays?
      end
      [cells, nil, uncertain]
    end

    def with_pools
      pools = @workers.to_h { |count| [count, Pool.new(workers: count)] }
      yield(pools)
    ensure
      pools&.each_value { |pool| pool.shutdown(timeout: 10) }
    end

    # For each class of sizes: from which batch size it pays, with the workers of the best cell.
    def table(pools, best, measured)
      return [] unless best&.workers&.positive?

      @payloads.classes(CLASSES).map do |group|
        cost = Cost.new(@variants.fetch(best.variant), group).measure
        cells = measured.select { |one| [one.variant, one.workers] == [best.variant, best.workers] } if group.equal?(@payloads)
        cells ||= measure(pools, @variants.slice(best.variant), group, cost, workers: [best.workers])
        Advice::Line.new(bytes: group.median, payloads: group.size, seconds: cost.seconds, from: Choice.first(cells)&.batch,
          gain: cells.map(&:gain).max)
      end
    end

    # One measurement: how many times faster than the task as it is given, in a loop.
    #
    # @!attribute [r] variant
    #   @return [Symbol] :given, :eager or :lazy
    # @!attribute [r] workers
    #   @return [Integer] 0: none, in the caller's thread
    # @!attribute [r] batch
    #   @return [Integer] payloads
    # @!attribute [r] gains
    #   @return [Array<Float>] of each round, the lowest first
    # @api private
    Cell = Data.define(:variant, :workers, :batch, :gains) do
      def initialize(gains:, **) = super(gains: gains.sort.freeze, **)

      # @return [Float] the median
      def gain = gains[gains.size / 2]

      # @return [Array(Float, Float)] the lowest and the highest
      def spread = [gains.first, gains.last]

      # @return [Boolean] whether that is a gain beyond what measuring is worth
      def pays? = gain >= WASTE && gains[gains.size / 4] > 1

      # @return [Boolean] whether no round was slower either
      def certain? = pays? && gains.first >= 1
    end

    # Which of the measured ways to take.
    # @api private
    module Choice
      CLOSE = 0.95 # of the best: then fewer workers, and smaller batches, do
      private_constant :CLOSE

      # @return [Cell, nil] nil: none pays
      def self.of(cells)
        paying = cells.select(&:pays?)
        best = paying.map(&:gain).max
        paying.select { |cell| cell.gain >= CLOSE * best }.min_by { |cell| [cell.workers, cell.batch] }
      end

      # @param cells [Array<Cell>] of one way, by batch size
      # @return [Cell, nil] the smallest batch from which on all pay
      def self.first(cells)
        cells.sort_by { |cell| -cell.batch }.take_while(&:pays?).last
      end
    end

    # A task as it is given, and, where it begins with a codec that can do either, with eager or lazy decoding.
    # @api private
    module Variants
      # @return [Hash{Symbol=>#call}] the given one first
      def self.of(task)
        codec = task.respond_to?(:decoder) ? task.decoder : task
        return {given: task} unless codec.respond_to?(:lazy) && codec.respond_to?(:document)

        rest = task.rest if task.is_a?(Pipeline)
        {given: task, lazy: rest ? codec.lazy >> rest : codec.lazy}.freeze
      end
    end
  end
end

require_relative "advisor/payloads"
require_relative "advisor/measuring"
require_relative "advisor/advice"
