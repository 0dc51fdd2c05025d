# frozen_string_literal: true

require_relative "../soft_dependency"

module Guildhall
  class CLI
    # Sample payloads from files: each line of .jsonl and .ndjson, else each file; what is empty is left out.
    module Payloads
      LINES = %w[.jsonl .ndjson].freeze
      WAIT_MS = 5000 # for a message
      QUIET = 2 # of the levels of syslog: what goes wrong is raised
      UNREACHABLE = %i[transport timed_out all_brokers_down resolve].freeze
      BEGINNING = -2 # as an offset
      private_constant :LINES, :WAIT_MS, :QUIET, :UNREACHABLE, :BEGINNING

      class << self
        # @param path [String] a file or a folder of files
        # @param limit [Integer] the maximum of payloads
        # @return [Array<String>] frozen
        # @raise [Guildhall::ArgumentError] where there is none
        def read(path, limit: 10_000)
          raise Guildhall::ArgumentError, "no file or folder #{path}" unless File.exist?(path)

          payloads = files(path).lazy.flat_map { |file| of(file) }.first(limit)
          raise Guildhall::ArgumentError, "no payloads in #{path}" if payloads.empty?

          payloads
        end

        # Blocks until that many were read, or there are no more.
        # @param topic [String]
        # @param servers [String] as for `bootstrap.servers`
        # @param limit [Integer] of each partition the first ones, in turn
        # @return [Array<String>] frozen
        # @raise [Guildhall::ArgumentError] where there is none, or no broker
        # @raise [MissingDependencyError] without librdkafka
        def of_topic(topic, servers, limit:)
          SoftDependency.require!("rdkafka", gem: "guildhall-kafka", purpose: "reading a topic")
          config = Rdkafka::Config.new("bootstrap.servers": servers, "group.id": "guildhall-advise", "auto.offset.reset": "earliest",
            "enable.auto.commit": false, "enable.partition.eof": true, log_level: QUIET)
          payloads = consume(config, topic, limit)
          raise Guildhall::ArgumentError, "no payloads in the topic #{topic} at #{servers}" if payloads.empty?

          payloads
        rescue Rdkafka::RdkafkaError => error
          unreachable = "no broker answers at #{servers}" if UNREACHABLE.include?(error.code)
          raise Guildhall::ArgumentError, unreachable || "topic #{topic}: #{error.message}"
        end

        private

        # Joins no group, so it causes no rebalance and affects no consumer.
        def consume(config, topic, limit)
          left = partitions(config, topic)
          consumer = config.consumer
          consumer.assign(all_of(topic, left))
          payloads = []
          while payloads.size < limit && left.positive?
            message = take(consumer) || break
            if message == :end then left -= 1
            elsif message.payload then payloads << text(message.payload.dup)
            end
          end
          payloads
        ensure
          consumer&.close
        end

        def all_of(topic, partitions)
          Rdkafka::Consumer::TopicPartitionList.new.tap do |list|
            list.add_topic_and_partitions_with_offsets(topic, (0...partitions).to_h { |partition| [partition, BEGINNING] })
          end
        end

        # @return [Rdkafka::Consumer::Message, :end, nil] a message, the end of a partition; nil: nothing came
        def take(consumer)
          consumer.poll(WAIT_MS)
        rescue Rdkafka::RdkafkaError => error
          error.is_partition_eof? ? :end : raise
        end

        def partitions(config, topic)
          admin = config.admin
          admin.metadata(topic, WAIT_MS).topics.first[:partition_count]
        ensure
          admin&.close
        end

        def files(path)
          return [path] unless File.directory?(path)

          Dir.glob("**/*", base: path).map { |file| File.join(path, file) }.select { |file| File.file?(file) }.sort
        end

        def of(file)
          return File.empty?(file) ? [] : [text(File.binread(file))] unless LINES.include?(File.extname(file).downcase)

          File.foreach(file, mode: "rb", chomp: true).lazy.reject { |line| line.strip.empty? }.map { |line| text(line) }
        end

        def text(bytes)
          utf8 = bytes.force_encoding(Encoding::UTF_8)
          (utf8.valid_encoding? ? utf8 : bytes.b).freeze
        end
      end
    end
  end
end
