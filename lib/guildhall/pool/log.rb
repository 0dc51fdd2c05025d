# frozen_string_literal: true

require_relative "../queue"

module Guildhall
  class Pool
    # Lines that tasks log, on their way to the application's logger, which lives in the main Ractor. Bounded: what does
    # not fit is counted and dropped, so that a task never waits for a logger.
    class Log
      CAPACITY = 1024
      SEVERITIES = %i[debug info warn error fatal].freeze

      # What a task sees as `Guildhall.logger` in a worker. Frozen and shareable.
      class Line
        # @param queue [Guildhall::Queue]
        # @param dropped [Guildhall::Queue] holds one item a dropped line, up to its capacity
        # @param call [FairQueue] whose coordinator writes the lines
        def initialize(queue, dropped, call)
          @queue = queue
          @dropped = dropped
          @call = call
          Ractor.make_shareable(self)
        end

        SEVERITIES.each do |severity|
          class_eval(<<~RUBY, __FILE__, __LINE__ + 1)
            def #{severity}(message = nil)                                   # def info(message = nil)
              add(:#{severity}, message.nil? && block_given? ? yield : message) #   add(:info, …)
            end                                                              # end
          RUBY
        end

        private

        def add(severity, message)
          line = [severity, message.to_s.dup.freeze].freeze
          @dropped.try_push(true) unless @queue.try_push(line)
          @call.call
          true
        end
      end

      def initialize
        @queue = Guildhall::Queue.new(CAPACITY)
        @dropped = Guildhall::Queue.new(CAPACITY)
      end

      # @param call [FairQueue]
      # @return [Line] for a worker
      def line(call)
        Line.new(@queue, @dropped, call)
      end

      # Writes what waits. In the main Ractor.
      # @param logger [Logger, nil] nil: standard error
      def drain(logger)
        while (severity, message = @queue.try_pop)
          write(logger, severity, message)
        end
        count = 0
        count += 1 while @dropped.try_pop
        write(logger, :warn, "guildhall: #{count}#{"+" if count >= CAPACITY} lines of tasks' logs were dropped") if count.positive?
      end

      private

      def write(logger, severity, message)
        logger ? logger.public_send(severity, message) : warn("#{severity}: #{message}")
      rescue StandardError => error
        warn("guildhall: the logger raised #{error.class}: #{error.message}")
      end
    end
  end
end
