# frozen_string_literal: true

require "guildhall/option_rules"
require_relative "config/errors"
require_relative "config/deserializing"
require_relative "config/duration"
require_relative "config/librdkafka_settings"
require_relative "config/timeouts"

module Guildhall
  module Kafka
    # The application's settings, in `Guildhall::Kafka.configure`. Durations are in seconds, except in {#kafka}, which
    # is handed to librdkafka as it is. Frozen once the application starts.
    class Config
      include OptionRules::Assigned

      ERROR_REPORTS = OptionRules.new("setting", messages: OptionRules.boolean)
      HEALTH = OptionRules.new("setting", port: OptionRules.integer(0..65_535), host: OptionRules.kind("a String", String))
      RULES = OptionRules.new(
        "setting",
        kafka: LibrdkafkaSettings::RULE, producer: LibrdkafkaSettings::RULE,
        **%i[client_id group_id].to_h { |name| [name, OptionRules.rule("a String that is not empty") { it.is_a?(String) && !it.empty? }] },
        concurrency: OptionRules.integer(ceiling: 10_000), max_messages: OptionRules.integer, max_bytes: OptionRules.bytes,
        max_messages_in_flight: OptionRules.integer.or(nil), max_bytes_in_flight: OptionRules.bytes.or(nil),
        **%i[max_wait_time commit_interval tick_interval lag_interval pause_timeout pause_max_timeout shutdown_timeout
             stall_timeout].to_h { |name| [name, Duration::RULE] },
        max_consume_time: Duration::RULE.or(nil),
        producer_middleware: OptionRules.rule("an Array of objects with `call`") do |list|
          list.is_a?(Array) && list.all? { it.respond_to?(:call) }
        end,
        revocation_timeout: Duration::RULE_WITH_ZERO,
        pause_with_exponential_backoff: OptionRules.boolean,
        middleware: OptionRules.rule("an Array of objects with call") do |value|
          value.is_a?(Array) && value.all? { |one| one.respond_to?(:call) }
        end,
        health: OptionRules.rule("a Hash with port: and perhaps host:") do |value|
          next unless value.is_a?(Hash)

          problems = HEALTH.errors({port: nil, **value})
          problems.empty? || problems.join("; ")
        end.or(nil),
        error_reports: OptionRules.rule("a Hash: {messages: true}") do |value|
          next unless value.is_a?(Hash)

          problems = ERROR_REPORTS.errors({messages: false, **value})
          problems.empty? || problems.join("; ")
        end,
        metrics: OptionRules.rule("an Array of objects with record") do |value|
          value.is_a?(Array) && value.all? { |one| one.respond_to?(:record) }
        end,
        pool: OptionRules.object("a Guildhall::Pool", :dispatch).or(nil),
        logger: OptionRules.object("a Logger", :add, :debug, :info, :error, :level).or(nil) # what is called of it
      )
      private_constant :ERROR_REPORTS, :HEALTH, :RULES

      # @return [Hash{Symbol,String=>Object}] settings of librdkafka, such as `"bootstrap.servers"`
      attr_accessor :kafka
      # @return [Hash{Symbol,String=>Object}] settings of librdkafka for the producer alone, such as `"compression.type"`;
      #   it has the brokers' addresses and the security settings from {#kafka}
      attr_accessor :producer
      # @return [Array<#call>] steps that each message passes before it is produced: called with the message's Hash, return the Hash that
      #   goes on. They see the payload as it was passed, before it is encoded
      attr_accessor :producer_middleware
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
      # @return [Integer, nil] messages of all partitions together that may be in memory, being worked on or waiting for
      #   a runner: what comes then stays with librdkafka. What paused partitions hold does not count. nil (unless set):
      #   100,000, or what the runners need
      attr_accessor :max_messages_in_flight
      # @return [Integer, nil] and bytes, about: the batch that reaches the limit counts as a whole. nil (unless set):
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
      # @return [Numeric] seconds within which the process stops, at the latest; 60 unless set
      attr_accessor :shutdown_timeout
      # @return [Numeric] seconds that a rebalance waits for work in progress on a partition that goes away; what takes
      #   longer is done by the next owner as well; 0: it is not waited for. Shorter than librdkafka's
      #   max.poll.interval.ms, for nothing is polled meanwhile. 10 unless set
      attr_accessor :revocation_timeout
      # @return [Numeric] seconds without progress after which a partition with messages left counts as stuck; 120
      #   unless set
      attr_accessor :stall_timeout
      # @return [Numeric, nil] seconds that a call of `consume` (or another method of a consumer) may take without marking a message
      #   before `/live` and systemd's watchdog take the process for dead. Nothing is interrupted. nil: any time. 3600.0 (an hour)
      #   unless set
      attr_accessor :max_consume_time
      # @return [Guildhall::Pool, nil] the pool that payloads are dispatched to; nil: one of the application's own
      attr_accessor :pool
      # @return [Array<#call>] what is put around each call of a consumer's method: `call(call) { … }` gets a
      #   {Partition::Middleware::Call} and has to yield once; the first is the outermost. Empty unless set
      attr_accessor :middleware
      # @return [Hash{Symbol=>Object}, nil] the server process answers probes over HTTP: `{port: 9292}`, and `host:`, the address to
      #   listen on, "0.0.0.0" unless set. Needs the gem webrick. nil (unless set): it does not
      attr_accessor :health
      # @return [Hash{Symbol=>Object}] what logs, events, traces and error trackers say of an error. `{messages: true}`: all of its message,
      #   and an excerpt of the payload; else (unless set) class, place, and of the message what cannot quote a payload:
      #   see docs/kafka_errors.md
      attr_accessor :error_reports
      # @return [Array<#record>] where metrics go: see docs/kafka_monitoring.md. Empty unless set
      attr_accessor :metrics
      # @return [Logger, nil] where the application's and librdkafka's log goes. Unless set: `guildhall server` logs to standard
      #   output from INFO on, any other process to standard error from WARN on. nil, set by hand: silence
      attr_reader :logger
      attr_reader :deserializing

      def initialize
        set_defaults
        set_time_defaults
        @deserializing = Deserializing.new
      end

      # (see #logger)
      def logger=(logger)
        @logger = logger
        @logger_given = true
      end

      # @return [Boolean] whether {#logger} was set, if only to nil
      def logger_given?
        @logger_given
      end

      # (see #group_id=)
      def group_id
        @group_id || (@kafka.is_a?(Hash) && (@kafka[:"group.id"] || @kafka["group.id"])) || "guildhall"
      end

      # @return [Boolean] whether messages of errors are shown in full: see {#error_reports}
      def messages_of_errors? = @error_reports.is_a?(Hash) && @error_reports[:messages] == true

      # Finds every error.
      def validate(errors)
        errors.add(*setting_errors(RULES))
        @deserializing.validate(errors)
        validate_pauses(errors)
        validate_kafka(errors) if @kafka.is_a?(Hash)
        LibrdkafkaSettings.validate(@producer, errors, "producer") if @producer.is_a?(Hash)
      end

      # @return [String] without values, for some of them are secret
      def inspect
        "#<#{self.class} of group #{group_id}>"
      end

      def freeze
        @kafka = Secrets.hide(@kafka.transform_keys(&:to_sym)).freeze
        @producer = Secrets.hide(@producer.transform_keys(&:to_sym)).freeze
        @middleware = @middleware.dup.freeze
        @metrics = @metrics.dup.freeze
        @error_reports = @error_reports.dup.freeze
        @deserializing.freeze
        super
      end

      private

      def set_defaults
        @kafka = {}
        @producer = {}
        @producer_middleware = []
        @client_id = "guildhall"
        @group_id = nil
        @concurrency = 5
        @max_messages = 500
        @max_bytes = 1_048_576
        @pause_with_exponential_backoff = true
        @max_messages_in_flight = @max_bytes_in_flight = nil
        @pool = @logger = nil
        @middleware = []
        @health = nil
        @error_reports = {}
        @metrics = []
        @logger_given = false
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
        @max_consume_time = 3600.0
      end

      def validate_pauses(errors)
        return unless [@pause_timeout, @pause_max_timeout].all?(Numeric) && @pause_timeout > @pause_max_timeout

        errors.add("pause_timeout (#{@pause_timeout} s) must not be longer than pause_max_timeout (#{@pause_max_timeout} s)")
      end

      def validate_kafka(errors)
        errors.add('kafka needs "bootstrap.servers"') unless bootstrap_servers?
        LibrdkafkaSettings.validate(@kafka, errors)
        group = @kafka[:"group.id"] || @kafka["group.id"]
        return if group.nil? || @group_id.nil? || group == @group_id

        errors.add("group_id (#{@group_id}) and kafka group.id (#{group}) differ: set one of them")
      end

      def bootstrap_servers?
        @kafka.any? { |name, value| %w[bootstrap.servers metadata.broker.list].include?(name.to_s) && !value.to_s.empty? }
      end
    end
  end
end
