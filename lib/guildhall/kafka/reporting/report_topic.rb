# frozen_string_literal: true

require "guildhall/clock"
require "guildhall/growing_pauses"
require_relative "../broker/topic_creation"
require_relative "../producer"
require_relative "../producing/settings"
require_relative "../routing/declared_topic"
require_relative "record"
require_relative "report"

module Guildhall
  module Kafka
    module Reporting
      # The topic that reports go to, and the producer that sends them: one of its own, so that they neither fill the queue of the
      # application's producer nor wait for it, nor belong to its transactions. What cannot be sent in time is dropped. Used by one thread.
      # @api private
      class ReportTopic
        HEADERS = {"guildhall" => Report::VERSION.to_s, "content-encoding" => "deflate"}.freeze
        # Of the kinds that a reader wants only the last seconds of, or the last hour; all others are in {OTHERS}. A topic with fewer
        # partitions has several kinds in one.
        PARTITIONS = {"state" => 0, "minute" => 1}.freeze
        OTHERS = 2
        # The brokers' time makes ages right although clocks differ. Not compacted: charts need the past.
        CONFIG = Routing::TopicConfig.new(partitions: 3, settings: {
          "cleanup.policy" => "delete", "retention.ms" => 86_400_000, "retention.bytes" => 268_435_456, "segment.ms" => 3_600_000,
          "segment.bytes" => 16_777_216, "message.timestamp.type" => "LogAppendTime"
        }.freeze)
        # A report that comes late says nothing, and one that comes twice does no harm.
        SETTINGS = {"request.required.acks": 1, "enable.idempotence": false, "message.timeout.ms": 10_000,
                    "queue.buffering.max.kbytes": 1_024}.freeze
        PAUSES = GrowingPauses.new(1, 60) # seconds before the brokers are asked again
        private_constant :HEADERS, :PARTITIONS, :OTHERS, :SETTINGS, :PAUSES

        # @return [String] the command that creates it
        def self.command(name) = CONFIG.command(name)

        # @return [Hash{Symbol=>Object}] librdkafka's: the connection of the application's producer, and nothing else of it
        def self.settings(config)
          {**Producing::Settings.shared(Producing::Settings.of(config)), **SETTINGS}
        end

        # Connects to no broker yet.
        # @yieldparam problem [String] why nothing can be written, and what to do; each once
        def initialize(name, config, &advise)
          @name = name
          @settings = ReportTopic.settings(config)
          @advise = advise
          @advised = Set.new
          @producer = Producer.new(@settings, full_seconds: 0, listener: method(:hear))
          @partitions = @pause = nil
          @due = Clock.now
        end

        # Blocks for the brokers' answers, the first time and after the topic was missing: it is created if that is allowed.
        # @return [Boolean] whether the topic is there
        def ready?
          return true if @partitions
          return false if Clock.now < @due

          @partitions = count
          @due = Clock.now + (@pause = @partitions ? 0 : PAUSES.after(@pause&.nonzero?))
          !@partitions.nil?
        end

        # Does not block. Dropped where that cannot be: the queue is full, say.
        # @param record [Hash{String=>Object}]
        def write(record)
          partitions = @partitions or return
          @producer.produce_async({topic: @name, partition: PARTITIONS.fetch(record["kind"], OTHERS) % partitions, key: record["process"],
                                   payload: Record.encode(record), headers: HEADERS})
        rescue ProduceError, ClosedProducerError
          nil
        end

        # Blocks for so long at most, about.
        def close(seconds) = @producer.close(Clock.now + seconds)

        private

        # @return [Integer, nil] nil: the topic is not there, or no broker says it
        def count
          declared = Routing::DeclaredTopic.new(name: @name, config: CONFIG, made: true)
          creation = Broker::TopicCreation.new(@settings, [declared]) do |error, _|
            advise("#{error.message}. Or create it: #{ReportTopic.command(@name)}")
          end
          return unless creation.run && !creation.refused?

          number = @producer.partition_count(@name)
          number if number.positive?
        rescue ProduceError => error # no broker answers any more
          hear([:undelivered, error.code])
        end

        # Called in a thread of the producer. What passes by itself is told of by those who consume.
        # @return [nil]
        def hear((kind, code, *))
          return unless %i[undelivered error].include?(kind)

          case Broker::Errors.kind(code)
          when :missing then @partitions = nil # it is created again
          when :right, :credentials then advise(ProduceError.of(code, @name).message)
          end
          nil
        end

        def advise(problem)
          @advise.call("this process does not report (config.reports): #{problem}") if @advised.add?(problem)
        end
      end
    end
  end
end
