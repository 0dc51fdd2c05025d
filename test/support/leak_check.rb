# frozen_string_literal: true

# Fails a test that leaves a Ractor, a thread or a file descriptor behind.
module LeakCheck
  GRACE = 5 # seconds for what is about to end

  def before_setup
    super
    @alive_before = LeakCheck.alive
  end

  def after_teardown
    super
    return if skipped?

    limit = Process.clock_gettime(Process::CLOCK_MONOTONIC) + GRACE
    until (left = leaked).empty?
      break if Process.clock_gettime(Process::CLOCK_MONOTONIC) > limit

      GC.start
      sleep(0.02)
    end
    flunk("left behind: #{left.join(", ")}") unless left.empty?
  rescue Minitest::Assertion => error
    failures << error
  end

  def self.alive
    {
      Ractor: Ractor.count,
      Thread: Thread.list.count { |thread| !kept?(thread) },
      "file descriptor": File.directory?("/proc/self/fd") ? Dir.children("/proc/self/fd").size : 0
    }
  end

  # Started once by a library and kept: by the first Timeout.timeout, by the first callback from C, by the first line that
  # librdkafka logs.
  def self.kept?(thread)
    thread.name == "FFI Callback Dispatcher" || thread.inspect.match?(%r{/timeout\.rb:|/rdkafka/config\.rb:})
  end

  private

  def leaked
    now = LeakCheck.alive
    @alive_before.filter_map { |kind, count| "#{now[kind] - count} #{kind}" if now[kind] > count }
  end
end
