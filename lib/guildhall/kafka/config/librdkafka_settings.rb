# frozen_string_literal: true

require_relative "../librdkafka"
require_relative "../faults"

module Guildhall
  module Kafka
    class Config
      # Names and values of librdkafka's settings, checked by librdkafka itself.
      module LibrdkafkaSettings
        # What the framework decides, and why the user must not: name => [our value, reason].
        OURS = {
          "enable.auto.offset.store" => ["false", "offsets are stored after the work is done"],
          "enable.auto.commit" => ["true", "commit_interval says how often the stored offsets are committed"],
          "auto.commit.interval.ms" => [nil, "that is the setting commit_interval, in seconds"]
        }.freeze
        # Better than librdkafka's own for a consumer that wants throughput; a user's setting wins.
        DEFAULTS = {
          # A full local queue stops fetching for this long: a whole second by default.
          "fetch.queue.backoff.ms": 5,
          # A request that names only partitions with nothing new waits at the broker, and no other is sent meanwhile: so
          # long a partition whose queue was full, and is empty by now, gets nothing. Half a second by default.
          "fetch.wait.max.ms": 50,
          # Each partition has a queue of its own here, so that this counts for each of them. More makes nothing
          # faster: memory that is used again and again stays in the caches.
          "queued.max.messages.kbytes": 8_192,
          "socket.keepalive.enable": true
        }.freeze

        # @param settings [Hash{Symbol,String=>Object}]
        # @param faults [Faults]
        # @param owner [String]
        # @return [void]
        def self.validate(settings, faults, owner = "kafka")
          # librdkafka lists this one under its older name only.
          known = ["bootstrap.servers", *Rdkafka::Config.new.describe_properties.keys.map(&:to_s)]
          settings.each do |name, value|
            ours, reason = OURS[name.to_s]
            next faults.add("#{owner} must not set #{name}: #{reason}") if reason && ours != value.to_s

            problem = problem_with(name.to_s, value.to_s)
            faults.add("#{owner}: #{problem}#{Faults.suggestion(name, known) unless known.include?(name.to_s)}") if problem
          end
        end

        # @return [String, nil] what librdkafka has against it
        def self.problem_with(name, value)
          config = Rdkafka::Bindings.rd_kafka_conf_new
          error = FFI::MemoryPointer.new(:char, 512)
          answer = Rdkafka::Bindings.rd_kafka_conf_set(config, name, value, error, 512)
          answer == :config_ok ? nil : error.read_string.strip
        ensure
          Rdkafka::Bindings.rd_kafka_conf_destroy(config) if config
        end
        private_class_method :problem_with
      end
    end
  end
end
