# frozen_string_literal: true

require_relative "../queue"

module Guildhall # rubocop:disable Style/Documentation
  # For tasks: what they log is written by the pool's logger (`Pool.new(logger:)`, standard error without one), whether
  # they run in a worker or in a caller's thread. Never waits; what is too much is counted and dropped. For Kafka's consumers: the
  # application's logger.
  def self.logger
    Ractor.current[:guildhall_logger] || Thread.current.thread_variable_get(:guildhall_logger) || Pool::Log::ToStandardError
  end

  class Pool
    # Lines that tasks log, on their way to the application's logger, which lives in the main Ractor. Bounded: what does
    # not fit is counted and dropped, so that a task never waits for a logger.
    # @api private
    class Log
      CAPACITY_LINES = 1024
      SEVERITIES = %i[debug info warn error fatal].freeze

      # `debug`, `info` … of an object that can `add(severity, message)`.
      module Severities
        SEVERITIES.each do |severity|
          class_eval(<<~RUBY, __FILE__, __LINE__ + 1)
            def #{severity}(message = nil)                                      # def info(message = nil)
              add(:#{severity}, message.nil? && block_given? ? yield : message) #   add(:info, …)
            end                                                                 # end
          RUBY
        end
      end

      # The logger of those who have none.
      module ToStandardError
        extend Severities

        def self.add(severity, message)
          $stderr.puts("#{severity}: #{message}")
        end
        private_class_method :add
      end

      # `Guildhall.logger` of a task in a worker. Frozen and shareable.
      class Line
        include Severities

        # @param dropped [Guildhall::Queue] holds one item a dropped line, up to its capacity
        # @param supervised [FairQueue] whose supervisor writes the lines
        def initialize(queue, dropped, supervised)
          @queue = queue
          @dropped = dropped
          @supervised = supervised
          Ractor.make_shareable(self)
        end

        private

        def add(severity, message)
          line = [severity, message.to_s.dup.freeze].freeze
          @dropped.try_push(true) unless @queue.try_push(line)
          @supervised.summon
          true
        end
      end

      def initialize
        @queue = Guildhall::Queue.new(CAPACITY_LINES)
        @dropped = Guildhall::Queue.new(CAPACITY_LINES)
      end

      # For a worker.
      def line(supervised)
        Line.new(@queue, @dropped, supervised)
      end

      # Writes the lines that are queued now, to standard error without a logger. In the main Ractor: the supervisor would do nothing else
      # any more if it also wrote those that tasks add meanwhile.
      def drain(logger)
        @queue.size.times do
          severity, message = @queue.try_pop
          write(logger, severity, message) if severity
        end
        count = @dropped.size.times.count { @dropped.try_pop }
        write(logger, :warn, "guildhall: #{count}#{"+" if count >= CAPACITY_LINES} lines of tasks' logs were dropped") if count.positive?
      end

      private

      def write(logger, severity, message)
        (logger || ToStandardError).public_send(severity, message)
      rescue StandardError => error
        warn("guildhall: the logger raised #{error.class}: #{Redaction.message(error)}")
      end
    end
  end
end
