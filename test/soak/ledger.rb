# frozen_string_literal: true

require_relative "plan"

module Soaking
  # What became of every message of a soak. The processes that send and handle append lines to a journal, which outlives those that are killed:
  #
  #     s SENDER FIRST LAST       is about to send these
  #     c SENDER NUMBER…          the brokers have these
  #     f SENDER NUMBER…          these were not delivered, as the producer says; they may have been
  #     h SENDER NUMBER MS        was handled, so long after it was sent
  #     r TASK DUE                a scheduled task was run
  #
  # What is read in topics comes by {#committed} and {#dead}. Any thread.
  class Ledger
    CONFIRMED = 1
    SETTLED = 2 # was handled, or is among the dead letters
    HANDLED = 4
    OUT = 8 # its result was committed by a transaction
    DEAD = 16
    FAILED = 32
    private_constant :CONFIRMED, :SETTLED, :HANDLED, :OUT, :DEAD, :FAILED

    ORDERED = %i[plain keyed tx].freeze
    SHOWN = 5 # examples
    # What must not be.
    FAULTS = %i[lost wrongly_dead not_dead out_of_order committed_twice strange].freeze

    attr_reader :counts

    def initialize(path)
      @path = path
      File.write(path, "", mode: "a")
      @lines = File.open(path)
      @rest = nil
      @lock = Mutex.new
      @states = Hash.new { |hash, sender| hash[sender] = +"".b }
      @sent = Hash.new(-1) # highest number
      @highest = Hash.new(-1) # by sender, stream and key the highest that was handled
      @counts = Hash.new(0)
      @examples = Hash.new { |hash, kind| hash[kind] = [] }
      @latencies = []
      @runs = Hash.new(0)
    end

    # Reads what has come.
    def read
      @lock.synchronize do
        *lines, @rest = "#{@rest}#{@lines.read}".split("\n", -1)
        lines.each { |line| note(*line.split) }
      end
    end

    # A reader of what transactions have committed has found the result of a message.
    def committed(sender, number, milliseconds)
      @lock.synchronize do
        next wrong(:committed_twice, sender, number) if state(sender, number).anybits?(OUT)

        add(sender, number, OUT)
        settle(sender, number, milliseconds)
      end
    end

    # A reader of the dead letters has found a message.
    def dead(sender, number)
      @lock.synchronize do
        wrong(:wrongly_dead, sender, number) unless Plan.poison(number)
        next @counts[:dead_twice] += 1 if state(sender, number).anybits?(DEAD)

        add(sender, number, DEAD)
        @counts[:dead] += 1
        settled(sender, number)
      end
    end

    # @return [Integer] messages that brokers have confirmed, and that are not settled
    def waiting = @lock.synchronize { @counts[:confirmed] - @counts[:settled] }

    # @return [Array<Integer>] milliseconds that messages took since this was asked last, sorted
    def take_latencies = @lock.synchronize { @latencies.tap { @latencies = [] }.sort }

    # @return [Integer] a scheduled task's runs
    def runs = @lock.synchronize { @runs.size }

    # When nothing more comes: what brokers have confirmed and nobody has seen is lost.
    def close
      return if @lines.closed?

      read
      @lines.close
      @lock.synchronize do
        @states.each do |sender, states|
          states.each_byte.with_index do |state, number|
            wrong(:strange, sender, number) if number > @sent[sender] && state.positive? # readers of topics may be faster than this one
            wrong(Plan.poison(number) ? :not_dead : :lost, sender, number) if state.anybits?(CONFIRMED) && state.nobits?(SETTLED)
          end
        end
      end
    end

    # @return [Array<String>] what must not be, with examples
    def errors
      @lock.synchronize do
        FAULTS.select { |kind| @counts[kind].positive? }.map { |kind| "#{@counts[kind]} #{kind}: #{@examples[kind].join(", ")}" }
      end
    end

    # @return [Hash{String=>Integer}] the account, for people
    def to_h
      @lock.synchronize do
        names = %i[confirmed failed handled doubled committed dead dead_twice lost wrongly_dead not_dead out_of_order committed_twice strange]
        sent = @sent.values.sum { |last| last + 1 }
        {sent:, **names.to_h { |name| [name, @counts[name]] }, waiting: @counts[:confirmed] - @counts[:settled], scheduled: @runs.size,
         scheduled_twice: @runs.values.count { |times| times > 1 }}.transform_keys { |name| name.to_s.tr("_", " ") }
      end
    end

    private

    def note(kind, sender, *numbers)
      case kind
      when "s" then @sent[sender] = [@sent[sender], Integer(numbers[1])].max
      when "c" then numbers.each { |number| confirmed(sender, Integer(number)) }
      when "f" then numbers.each { |number| failed(sender, Integer(number)) }
      when "h" then handled(sender, Integer(numbers[0]), Integer(numbers[1]))
      when "r" then @runs[[sender, numbers[0]]] += 1
      end
    end

    # What is settled counts for {#waiting} once it is confirmed, which may come later.
    def confirmed(sender, number)
      add(sender, number, CONFIRMED)
      @counts[:confirmed] += 1
      @counts[:settled] += 1 if state(sender, number).anybits?(SETTLED)
    end

    def failed(sender, number)
      add(sender, number, FAILED)
      @counts[:failed] += 1
    end

    def handled(sender, number, milliseconds)
      return wrong(:not_dead, sender, number) if Plan.poison(number)
      return @counts[:doubled] += 1 if state(sender, number).anybits?(HANDLED)

      add(sender, number, HANDLED)
      @counts[:handled] += 1
      settle(sender, number, milliseconds)
    end

    def settle(sender, number, milliseconds)
      @counts[:committed] += 1 if Plan.stream(number) == :tx
      @latencies << milliseconds unless Plan.stream(number) == :retried
      in_order(sender, number)
      settled(sender, number)
    end

    def settled(sender, number)
      return if state(sender, number).anybits?(SETTLED)

      add(sender, number, SETTLED)
      @counts[:settled] += 1 if state(sender, number).anybits?(CONFIRMED)
    end

    def in_order(sender, number)
      stream = Plan.stream(number)
      return unless ORDERED.include?(stream)

      place = [stream, Plan.key(sender, number)]
      wrong(:out_of_order, sender, number, " after #{@highest[place]}") if number < @highest[place]
      @highest[place] = [@highest[place], number].max
    end

    def wrong(kind, sender, number, more = nil)
      @counts[kind] += 1
      @examples[kind] << "#{sender}@#{number} (#{Plan.stream(number)})#{more}" if @examples[kind].size < SHOWN
    end

    def state(sender, number) = @states[sender].getbyte(number) || 0

    def add(sender, number, bit)
      states = @states[sender]
      states << ("\0".b * (number + 1_000 - states.bytesize)) if states.bytesize <= number
      states.setbyte(number, states.getbyte(number) | bit)
    end
  end
end
