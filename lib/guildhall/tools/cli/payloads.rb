# frozen_string_literal: true

require "guildhall/soft_dependency"

module Guildhall
  module Tools
    module CLI
      # Sample payloads from files: each line of .jsonl and .ndjson, else each file; what is empty is left out.
      module Payloads
        LINES = %w[.jsonl .ndjson].freeze
        QUIET_LOG_LEVEL = 2 # of the levels of syslog
        private_constant :LINES, :QUIET_LOG_LEVEL

        class << self
          # @param path [String] a file or a folder of files
          # @param limit [Integer] the maximum of payloads
          # @yieldparam file [String] that is empty
          # @return [Array<String>] frozen
          # @raise [Guildhall::ArgumentError] where there is none
          def read(path, limit: 10_000, &)
            raise Guildhall::ArgumentError, "no file or folder #{path}" unless File.exist?(path)

            payloads = files(path).lazy.flat_map { |file| of(file, &) }.first(limit)
            raise Guildhall::ArgumentError, "no payloads in #{path}" if payloads.empty?

            payloads
          end

          # Blocks until that many were read, or there are no more.
          # @param servers [String] as for `bootstrap.servers`
          # @param limit [Integer] of each partition the first ones, in turn
          # @return [Array<String>] frozen
          # @raise [Guildhall::ArgumentError] where there is none, or no broker
          # @raise [MissingDependencyError] without librdkafka
          def of_topic(topic, servers, limit:)
            SoftDependency.require!("guildhall/kafka", gem: "guildhall-kafka", purpose: "reading a topic")
            payloads = sample(topic, servers, limit)
            raise Guildhall::ArgumentError, "no payloads in the topic #{topic} at #{servers}" if payloads.empty?

            payloads
          end

          private

          def sample(topic, servers, limit)
            settings = {"bootstrap.servers": servers, "group.id": "guildhall-advise", log_level: QUIET_LOG_LEVEL}
            found = Kafka::Broker::Session.open(settings) { |session| first_payloads(session, topic, limit) }
            found.map { |bytes| text(bytes.dup) }
          rescue Kafka::UnreachableError
            raise Guildhall::ArgumentError, "no broker answers at #{servers}"
          rescue Kafka::KafkaError => error
            raise Guildhall::ArgumentError, "topic #{topic}: #{error.message}"
          end

          # Of each partition about as many, without tombstones.
          def first_payloads(session, topic, limit)
            ranges = session.ranges_of(session.topic(topic)).reject { |_, range| range.none? }
            payloads = []
            until ranges.empty? || payloads.size >= limit
              share = [(limit - payloads.size).ceildiv(ranges.size), 1].max
              ranges = ranges.to_h do |number, range|
                first = session.each_record(topic, number, range, limit: share) { |record| payloads << record.raw_payload }
                [number, first...range.end]
              end
              ranges = ranges.reject { |_, range| range.none? }
              payloads.compact!
            end
            payloads.first(limit)
          end

          def files(path)
            return [path] unless File.directory?(path)

            Dir.glob("**/*", base: path).map { |file| File.join(path, file) }.select { |file| File.file?(file) }.sort
          end

          def of(file)
            if File.empty?(file)
              yield file if block_given?
              return []
            end
            return [text(File.binread(file))] unless LINES.include?(File.extname(file).downcase)

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
end
