# frozen_string_literal: true

require_relative "../soft_dependency"

module Guildhall
  class CLI
    # Sample payloads from files: each line of .jsonl and .ndjson, else each file; what is empty is left out.
    module Payloads
      LINES = %w[.jsonl .ndjson].freeze
      WAIT_MS = 5000 # for a message
      private_constant :LINES, :WAIT_MS

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
          payloads = consume(topic, servers, limit)
          raise Guildhall::ArgumentError, "no payloads in the topic #{topic} at #{servers}" if payloads.empty?

          payloads
        rescue Rdkafka::RdkafkaError => error
          raise Guildhall::ArgumentError, "topic #{topic} at #{servers}: #{error.message}"
        end

        private

        def consume(topic, servers, limit)
          consumer = Rdkafka::Config.new("bootstrap.servers": servers, "group.id": "guildhall-advise-#{Process.pid}-#{rand(1_000_000)}",
            "auto.offset.reset": "earliest", "enable.auto.commit": false, log_level: 3).consumer
          consumer.subscribe(topic)
          payloads = []
          while payloads.size < limit && (message = consumer.poll(WAIT_MS))
            payloads << text(message.payload.dup) if message.payload
          end
          payloads
        ensure
          consumer&.close
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
