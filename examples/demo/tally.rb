# frozen_string_literal: true

module Demo # rubocop:disable Style/Documentation
  # What one consumer did with the messages. Threads that process partitions side by side add to it.
  class Tally
    Example = Data.define(:topic, :partition, :offset, :position, :message)

    attr_reader :counts, :failures, :filtered, :tombstones, :bytes, :first_at, :last_at

    def initialize
      @lock = Mutex.new
      @counts = Hash.new(0)
      @failures = {}
      @filtered = @tombstones = @bytes = 0
    end

    # @param path [String, nil] where to note what was handled; nil: nowhere
    def record_to(path)
      @record = path && File.open(path, "a")
    end

    # A batch of which nothing was left: its consumer was not called.
    def skipped(payload)
      begun
      add(filtered: payload[:dropped], bytes: payload[:bytes])
    end

    # Adds what came of a batch.
    # @param record [Array<String>] partition and offset of the messages
    def add(counts: {}, filtered: 0, tombstones: 0, failures: [], bytes: 0, record: [])
      @lock.synchronize do
        @record&.puts(record)
        @record&.flush
        counts.each { |key, count| @counts[key] += count }
        @filtered += filtered
        @tombstones += tombstones
        @bytes += bytes
        failures.each { |kind, example| add_failure(kind, example) }
        @last_at = Demo.now
      end
    end

    # Marks the arrival of the first message; later calls change nothing.
    def begun
      @first_at || @lock.synchronize { @first_at ||= Demo.now }
    end

    def processed = @counts.each_value.sum
    def failed = @failures.each_value.sum(&:first)
    def handled = processed + filtered + failed + tombstones
    def seconds = @last_at && @first_at ? [@last_at - @first_at, 1e-9].max : 0.0
    def rate = seconds.zero? ? 0.0 : handled / seconds
    def megabytes_a_second = seconds.zero? ? 0.0 : bytes / seconds / 1e6

    private

    def add_failure(kind, example)
      count, first = @failures[kind] || [0, example]
      @failures[kind] = [count + 1, first]
    end
  end

  def self.now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
end
