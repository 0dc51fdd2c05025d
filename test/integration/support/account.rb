# frozen_string_literal: true

require "tempfile"

# What became of every message of a scenario. A journal that all its processes append to, a line for each message in the
# order in which they were handled, and that outlives those that are killed.
#
# No message may be handled for the first time after a later one of its partition; dead letters have no order. What is
# handled again is counted, and so is each time that a life (one consumer instance: one assignment of one partition to one
# member) went back, as when librdkafka fetches again after an answer was lost.
class Account
  # @return [String] for other processes: {.open}
  attr_reader :path

  # The same account in another process.
  # @return [Account]
  def self.open(path)
    new(path)
  end

  def initialize(path = Tempfile.create("account").tap(&:close).path)
    @path = path
    @journal = File.open(path, File::WRONLY | File::APPEND | File::CREAT)
    @lines = File.open(path)
    @lock = Mutex.new
    @produced = Hash.new(0)
    forget
  end

  # @param partition [Integer, String]
  # @param count [Integer] so many messages more, whose numbers follow those before
  # @return [void]
  def produced(partition, count)
    @produced[partition] += count
  end

  # @return [Integer]
  def produced_in_all
    @produced.values.sum
  end

  # One write, so that lines of several processes and threads never mix.
  # @param life [Object] such as the consumer
  # @return [void]
  def handled(partition, number, life)
    @journal.syswrite("#{partition} #{number} #{Process.pid}-#{life.object_id}\n")
  end

  # @return [void]
  def dead_lettered(partition, number)
    @journal.syswrite("#{partition} #{number} -\n")
  end

  # @return [Integer] messages that were handled or went to the dead letters, each counted once
  def settled
    read { @first.sum { |_, numbers| numbers.size } }
  end

  # @return [Integer] how often a message was handled
  def consumed
    read { @consumed }
  end

  # @return [Integer] consumer instances that have handled something
  def lives
    read { @last.size }
  end

  # @return [Boolean] whether nothing is left to be done
  def complete?
    settled >= produced_in_all
  end

  # @return [Array<String>] what must not be
  def errors
    read do
      lost = @produced.flat_map { |partition, count| ((0...count).to_a - @first[partition].keys).map { |number| "#{partition}@#{number}" } }
      strange = @first.sum { |partition, numbers| numbers.keys.count { |number| number >= @produced[partition] } }
      errors = []
      errors << "#{lost.size} lost: #{lost.first(5).join(", ")}" if lost.any?
      errors << "#{strange} that nobody produced" if strange.positive?
      errors << "#{@disorder.size} out of order: #{@disorder.first(5).join(", ")}" if @disorder.any?
      errors
    end
  end

  # @return [String] for people
  def to_s
    twice = consumed + @dead - settled
    "#{produced_in_all} produced, #{@consumed} consumed, #{@dead} dead-lettered, #{twice} duplicated, " \
      "#{@disorder.size} out of order#{", #{@rewinds} times back" if @rewinds.positive?}"
  end

  # @return [void]
  def close
    [@journal, @lines].each(&:close)
    File.delete(@path)
  end

  private

  def forget
    @first = Hash.new { |hash, partition| hash[partition] = {} }
    @highest = Hash.new(-1)
    @last = {}
    @disorder = []
    @consumed = @dead = @rewinds = 0
    @rest = nil
  end

  # Reads what has come, then answers.
  def read
    @lock.synchronize do
      *lines, @rest = "#{@rest}#{@lines.read}".split("\n", -1)
      lines.each { |line| note(*line.split) }
      yield
    end
  end

  def note(partition, number, life)
    partition = Integer(partition, exception: false) || partition
    number = Integer(number)
    life == "-" ? @dead += 1 : note_life(partition, number, life)
    numbers = @first[partition]
    return if numbers.key?(number)

    numbers[number] = true
    note_order(partition, number) unless life == "-"
  end

  def note_order(partition, number)
    @disorder << "#{partition}@#{number} after #{@highest[partition]}" if number < @highest[partition]
    @highest[partition] = [@highest[partition], number].max
  end

  def note_life(partition, number, life)
    @consumed += 1
    last = @last[[partition, life]]
    @rewinds += 1 if last && number <= last
    @last[[partition, life]] = number
  end
end
