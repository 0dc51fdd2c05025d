# frozen_string_literal: true

require_relative "faults"
require_relative "config/deserializing"
require_relative "config/setting"
require_relative "config/librdkafka_settings"
require_relative "config/timeouts"

module Guildhall
  module Kafka
    # The application's settings, in `Guildhall::Kafka.configure`. Durations are in seconds, except in {#kafka}, which
    # is handed to librdkafka as it is. Frozen once the application starts.
    class Config
      READERS = %i[native ffi].freeze
      SETTINGS = [
        Setting.new(:kafka, "a Hash of librdkafka settings") { |value| value.is_a?(Hash) },
        Setting.new(:producer, "a Hash of librdkafka settings") { |value| value.is_a?(Hash) },
        Setting.new(:client_id, "a String") { |value| value.is_a?(String) && !value.empty? },
        Setting.new(:group_id, "a String") { |value| value.is_a?(String) && !value.empty? },
        Setting.new(:concurrency, "a positive Integer") { |value| value.is_a?(Integer) && value.positive? },
        Setting.new(:max_messages, "a positive Integer") { |value| value.is_a?(Integer) && value.positive? },
        Setting.new(:max_bytes, "a positive Integer") { |value| value.is_a?(Integer) && value.positive? },
        *%i[max_messages_in_flight max_bytes_in_flight].map do |name|
          Setting.new(name, "a positive Integer, or nil") { |value| value.nil? || (value.is_a?(Integer) && value.positive?) }
        end,
        Setting.new(:max_wait_time, "seconds", seconds: true),
        Setting.new(:commit_interval, "seconds", seconds: true),
        Setting.new(:tick_interval, "seconds", seconds: true),
        Setting.new(:lag_interval, "seconds", seconds: true),
        Setting.new(:pause_timeout, "seconds", seconds: true),
        Setting.new(:pause_max_timeout, "seconds", seconds: true),
        Setting.new(:pause_with_exponential_backoff, "true or false") { |value| [true, false].include?(value) },
        Setting.new(:shutdown_timeout, "seconds", seconds: true),
        Setting.new(:revocation_timeout, "seconds, or 0", seconds: true) { |value| value.is_a?(Numeric) && !value.negative? },
        Setting.new(:stall_timeout, "seconds", seconds: true),
        Setting.new(:reader, "one of #{READERS.map(&:inspect).join(", ")}, or nil") { |value| value.nil? || READERS.include?(value) },
        Setting.new(:pool, "a Guildhall::Pool, or nil") { |value| value.nil? || value.respond_to?(:dispatch) },
        Setting.new(:logger, "a Logger, or nil") { |value| value.nil? || value.respond_to?(:info) }
      ].freeze

      # @return [Hash{Symbol,String=>Object}] settings of librdkafka, such as `"bootstrap.servers"`
      attr_accessor :kafka
      # @return [Hash{Symbol,String=>Object}] settings of librdkafka for the producer alone, such as `"compression.type"`;
      #   it has the brokers' addresses and the security settings from {#kafka}
      attr_accessor :producer
      # @return [String] what brokers call this application; "guildhall" unless set
      attr_accessor :client_id
      # @return [String] the consumer group of topics routed outside a `consumer_group`; unless set, what {#kafka} has as
      #   "group.id", or else "guildhall"
      attr_writer :group_id
      # @return [Integer] how many runner threads call consumers; 5 unless set
      attr_accessor :concurrency
      # @return [Integer] a batch has at most that many messages of one partition; 500 unless set
      attr_accessor :max_messages
      # @return [Integer] a batch has about that many bytes at most, but one message in any case; 1 MiB unless set. More
      #   makes nothing faster: memory that is used again soon is still in the caches. Raise it where consumers want
      #   many big messages at once
      attr_accessor :max_bytes
      # @return [Integer, nil] so many messages of all partitions together may be in memory, being worked on or waiting for
      #   a runner: what comes then stays with librdkafka. What paused partitions hold does not count. nil (unless set):
      #   100,000, or what the runners need
      attr_accessor :max_messages_in_flight
      # @return [Integer, nil] and so many bytes; about, for the batch that fills it counts as a whole. nil (unless set):
      #   256 MiB, or what the runners need
      attr_accessor :max_bytes_in_flight
      # @return [Numeric] seconds that a poll waits for the first message: a ceiling, never a delay. 1 unless set
      attr_accessor :max_wait_time
      # @return [Numeric] seconds between two commits of the offsets stored meanwhile; 5 unless set
      attr_accessor :commit_interval
      # @return [Numeric] seconds between two calls of a consumer's `tick`; 5 unless set
      attr_accessor :tick_interval
      # @return [Numeric] seconds between two events `lag.measured`; 5 unless set
      attr_accessor :lag_interval
      # @return [Numeric] seconds before a consumer that raised is called again; 1 unless set
      attr_accessor :pause_timeout
      # @return [Numeric] seconds that this pause grows to at most; 30 unless set
      attr_accessor :pause_max_timeout
      # @return [Boolean] whether the pause doubles each time; true unless set
      attr_accessor :pause_with_exponential_backoff
      # @return [Numeric] seconds within which the process stops, come what may; 60 unless set
      attr_accessor :shutdown_timeout
      # @return [Numeric] seconds that a rebalance waits for work in progress on a partition that goes away; what takes
      #   longer is done by the next owner as well; 0: it is not waited for. Shorter than librdkafka's
      #   max.poll.interval.ms, for nothing is polled meanwhile. 10 unless set
      attr_accessor :revocation_timeout
      # @return [Numeric] seconds without progress after which a partition with messages left counts as stuck; 120
      #   unless set
      attr_accessor :stall_timeout
      # @return [Symbol, nil] :native (C, off the GVL), :ffi (Ruby), or nil: native where the extension is there
      attr_accessor :reader
      # @return [Guildhall::Pool, nil] the pool that payloads are dispatched to; nil: one of the application's own
      attr_accessor :pool
      # @return [Logger, nil] what happened, for people; nil: silence
      attr_accessor :logger
      # @return [Deserializing]
      attr_reader :deserializing

      def initialize
        set_defaults
        set_time_defaults
        @deserializing = Deserializing.new
        @unknown = {}
      end

      # (see #group_id=)
      def group_id
        @group_id || (@kafka.is_a?(Hash) && (@kafka[:"group.id"] || @kafka["group.id"])) || "guildhall"
      end

      # Finds every fault.
      # @param faults [Faults]
      # @return [void]
      def validate(faults)
        SETTINGS.each { |setting| setting.validate(public_send(setting.name), faults) }
        @unknown.each_key { |name| faults.add("there is no setting #{name}#{Faults.suggestion(name, SETTINGS.map(&:name))}") }
        @deserializing.validate(faults)
        return unless @kafka.is_a?(Hash)

        faults.add('kafka needs "bootstrap.servers"') unless bootstrap_servers?
        LibrdkafkaSettings.validate(@kafka, faults)
        LibrdkafkaSettings.validate(@producer, faults, "producer") if @producer.is_a?(Hash)
      end

      # @return [self]
      def freeze
        @kafka = @kafka.transform_keys(&:to_sym).freeze
        @producer = @producer.transform_keys(&:to_sym).freeze
        @deserializing.freeze
        super
      end

      private

      def set_defaults
        @kafka = {}
        @producer = {}
        @client_id = "guildhall"
        @group_id = nil
        @concurrency = 5
        @max_messages = 500
        @max_bytes = 1_048_576
        @pause_with_exponential_backoff = true
        @max_messages_in_flight = @max_bytes_in_flight = nil
        @reader = @pool = @logger = nil
      end

      def set_time_defaults
        @max_wait_time = 1
        @commit_interval = 5
        @tick_interval = 5
        @lag_interval = 5
        @pause_timeout = 1
        @pause_max_timeout = 30
        @shutdown_timeout = 60
        @revocation_timeout = 10
        @stall_timeout = 120
      end

      def bootstrap_servers?
        @kafka.any? { |name, value| %w[bootstrap.servers metadata.broker.list].include?(name.to_s) && !value.to_s.empty? }
      end

      # A setting that does not exist is told together with all other faults, not alone by a NoMethodError.
      def method_missing(name, *arguments)
        return super unless name.end_with?("=") && arguments.size == 1

        @unknown[name.to_s.delete_suffix("=")] = true
      end

      def respond_to_missing?(_name, _private = false)
        false
      end
    end
  end
end
