# frozen_string_literal: true

module Guildhall
  module LeakCheck
    # Compares the process with what it was when watching began, and reports each creation site that has grown since it was last reported.
    # @api private
    class Watcher
      NAME = "guildhall leak check"
      MEMORY_FACTOR = 1.5 # of the first look, and then of the last report
      private_constant :MEMORY_FACTOR

      # @see LeakCheck.watch
      def initialize(every:, least:, logger:, report:)
        raise Guildhall::ArgumentError, "every is seconds, above 0, not #{every.inspect}" unless every.is_a?(Numeric) && every.positive?
        raise Guildhall::ArgumentError, "least is an Integer above 0, not #{least.inspect}" unless least.is_a?(Integer) && least.positive?

        @every = every
        @least = least
        @report = report || ->(growth) { log(logger, growth) }
        @stopped = Thread::Queue.new
        @reported = {}
      end

      def start
        return self if @thread&.alive?

        look
        @thread = Thread.new { attempt("looking for leaks") { look } until @stopped.pop(timeout: @every) }
        @thread.name = NAME
        self
      end

      # Waits for a look that has begun.
      def stop
        @stopped << true
        @thread&.join
      end

      # Looks now; reports to the block, or logs, what has grown.
      # @return [Growth, nil] nil: nothing is to be reported
      def look
        now = LeakCheck.snapshot
        @first ||= now
        growth = Growth.new(@first, now)
        news = growth.only { |leak| leak.count >= [@least, @reported.fetch(leak.site, 0) + 1].max }
        return unless news.leak? | swollen?(growth)

        news.leaks.each { |leak| @reported[leak.site] = leak.count }
        attempt("reporting a leak") { @report.call(news) }
        news
      end

      private

      # An error, as in a process without free file descriptors, does not end the watching.
      def attempt(what, &)
        ErrorBoundary.run(->(error) { warn("guildhall: #{what} raised #{error.class}: #{error.message}") }, &)
      end

      def swollen?(growth)
        memory = @first.memory + growth.memory
        return false if memory.zero? || memory < MEMORY_FACTOR * (@reported[:memory] ||= @first.memory)

        @reported[:memory] = memory
        true
      end

      def log(logger, growth)
        text = "guildhall: grown since watching began: #{growth}"
        logger ? logger.warn(text) : warn(text)
      end
    end
  end
end
