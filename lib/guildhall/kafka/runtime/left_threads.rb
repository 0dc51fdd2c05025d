# frozen_string_literal: true

module Guildhall
  module Kafka
    class Runtime
      # Finds threads that consumers start in `initialized` and never end: each assignment of a partition makes a consumer, and leaves some
      # more behind. Known by their group, which a thread has from the one that starts it, so that a consumer's cost nothing while it works.
      #
      # A thread that only one consumer has left may be one that a library starts once and keeps.
      # @api private
      class LeftThreads
        GRACE_SECONDS = 10 # for what is about to end
        LEAST_CONSUMERS = 2
        private_constant :GRACE_SECONDS, :LEAST_CONSUMERS

        # @param grace [Numeric] seconds
        def initialize(grace: GRACE_SECONDS)
          @grace = grace
          @lock = Mutex.new
          @left = Hash.new { |hash, site| hash[site] = [] } # Arrays, each of one consumer's threads, by site
          @told = Set.new
        end

        # Runs the block, which makes a consumer.
        # @return [ThreadGroup, nil] of the threads that were started meanwhile, and of those that they start; nil: the application has
        #   fenced in its threads
        def self.started
          before = Thread.current.group
          return yield && nil if before.enclosed?

          started = ThreadGroup.new.add(Thread.current)
          begin
            yield
          ensure
            before.add(Thread.current)
          end
          started
        end

        # A consumer's partition went away, and it has been told so. Does not block.
        # @param started [ThreadGroup, nil]
        def consumer_gone(started, partition)
          return if started.nil? || started.list.empty?

          partition.runtime.timer.after(@grace) { look(started, partition) }
        end

        # @return [String] where a thread was started: "file:line", or what is known of one that a library in C has started
        def self.site_of(thread)
          text = thread.inspect
          text = text.sub("@#{thread.name} ", " ") if thread.name
          text[/\A#<\S+ (.+:\d+) \S+>\z/, 1] || thread.name || thread.class.to_s
        end

        private

        def look(started, partition)
          started.list.group_by { |thread| LeftThreads.site_of(thread) }.each do |site, threads|
            left = @lock.synchronize { note(site, threads) } or next
            partition.reports.publish("consumer.threads_left", consumer: partition.topic.consumer.to_s, site:,
              threads: left.sum(&:size), consumers: left.size)
          end
        end

        # @return [Array<Array<Thread>>, nil] by consumer, where that is to be told, which it is once
        def note(site, threads)
          return if @told.include?(site)

          left = (@left[site] << threads).map { |some| some.select(&:alive?) }.reject(&:empty?)
          @left[site] = left
          return if left.size < LEAST_CONSUMERS

          @told << site
          @left.delete(site)
        end
      end
    end
  end
end
