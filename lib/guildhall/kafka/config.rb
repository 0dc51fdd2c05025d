# frozen_string_literal: true

require "guildhall/option_rules"
require_relative "config/librdkafka_settings"
require_relative "commanding/settings"
require_relative "group/protocols"
require_relative "partition/backoff"
require_relative "reporting/limits"
require_relative "settings/rules"
require_relative "settings/table"
require_relative "tokens"

module Guildhall
  module Kafka
    # The application's settings, in `Guildhall::Kafka.configure`. Durations are in seconds, except in {#kafka}, which
    # is handed to librdkafka as it is. Frozen once the application starts.
    #
    # Each is declared once, in the table below: name, default, rule, and the sentence that the guide has of it.
    class Config
      extend Settings::Declared
      include OptionRules::Assigned

      # @param missing [Hash{Symbol=>Object}] the values of keys that are not there
      def self.hash_of(expected, missing, **rules)
        Ractor.make_shareable(missing)
        own = OptionRules.new("setting", **rules)
        OptionRules.rule(expected) do |value|
          next unless value.is_a?(Hash)

          problems = own.errors({**missing, **value})
          problems.empty? || problems.join("; ")
        end
      end
      private_class_method :hash_of

      Rules = Settings::Rules
      CALLABLES = OptionRules.rule("an Array of objects with call") { |list| list.is_a?(Array) && list.all? { it.respond_to?(:call) } }
      RECORDERS = OptionRules.rule("an Array of objects with record") { |list| list.is_a?(Array) && list.all? { it.respond_to?(:record) } }
      # The message has nothing of the value.
      TOKEN = OptionRules.rule("a token") do |value|
        value.nil? || (value.is_a?(String) && value.match?(/\A[!-~]{16,}\z/)) || "must be a String of 16 characters or more, without spaces"
      end
      HEALTH = hash_of("a Hash with port: and perhaps host: and token:", {port: nil},
        port: OptionRules.integer(0..65_535), host: Rules::TEXT, token: TOKEN)
      COMMANDS = OptionRules.rule("a Hash with public_key:") { |value| Commanding::Settings.problem(value) || true }
      ERROR_REPORTS = hash_of("a Hash: {messages: true, attempts: true}", {messages: false, attempts: false},
        messages: Rules::BOOLEAN, attempts: Rules::BOOLEAN)
      # Where reports go, and what they have, where only some of it is given.
      REPORTING = {topic: "guildhall.reports", messages: true}.freeze
      REPORTS = hash_of("true, false or a Hash: {topic: \"name\", messages: false}", REPORTING,
        topic: Rules::TOPIC_NAME, messages: Rules::BOOLEAN)
      # Environment variables that say which release it is where the setting does not.
      RELEASES = %w[RELEASE KAMAL_VERSION HEROKU_SLUG_COMMIT GIT_REVISION].freeze
      LOGGER = OptionRules.object("a Logger", :add, :debug, :info, :error, :level) # the methods that are called
      private_constant :Rules, :CALLABLES, :RECORDERS, :TOKEN, :HEALTH, :COMMANDS, :ERROR_REPORTS, :RELEASES, :REPORTING, :REPORTS, :LOGGER

      setting :kafka, {}, LibrdkafkaSettings::RULE, "settings of librdkafka, such as `\"bootstrap.servers\"`"
      setting :producer, {}, LibrdkafkaSettings::RULE,
        "settings of librdkafka for the producer alone; it has addresses and security from `kafka`"
      setting :oauth_token, nil, Tokens::RULE.or(nil),
        "brings tokens for SASL OAUTHBEARER: called with the client or without arguments, in a thread of its own; returns " \
        "`{token:, expires_at:, principal:, extensions:}` ([tokens](kafka_security.md#tokens))"
      setting :group_id, nil, Rules::NAME,
        "consumer group of topics outside a `consumer_group`; nil: `kafka`'s `group.id`, or \"guildhall\""
      setting :group_protocol, :auto, Group::Protocols.rule,
        "`:consumer`: Kafka 4's (KIP-848), `:classic`: the one before, `:auto`: the first where the brokers offer it and no " \
        "setting of librdkafka rules it out ([protocols](kafka_protocols.md))"
      setting :release, nil, Rules::TEXT.or(nil),
        "what this version of the application is called in reports. nil: `RELEASE`, `KAMAL_VERSION`, `HEROKU_SLUG_COMMIT` or " \
        "`GIT_REVISION` of the environment"
      setting :client_id, "guildhall", Rules::NAME, "what brokers and the dashboard call this application"
      setting :concurrency, 5, OptionRules.integer(ceiling: 10_000), "runner threads, which call consumers"
      setting :max_messages, 500, Rules::COUNT, "messages of one partition in a batch, at most"
      setting :max_bytes, 1_048_576, Rules::BYTES,
        "bytes in a batch, about, but one message in any case. Raise it where consumers want many big messages at once; it makes " \
        "nothing faster"
      setting :max_bytes_in_flight, nil, Rules::BYTES.or(nil),
        "bytes, about, of all partitions that are in memory, without what paused partitions hold. nil: 256 MiB, or what the " \
        "runners need"
      setting :commit_interval, 5, Rules::DURATION, "seconds between two commits of the offsets that were stored meanwhile"
      setting :pause_timeout, 1, Rules::DURATION, "seconds before a consumer that raised is called again"
      setting :pause_max_timeout, 30, Rules::DURATION, "seconds that this pause grows to, at most"
      setting :shutdown_timeout, 60, Rules::DURATION, "seconds within which the process stops, at the latest"
      setting :revocation_timeout, 10, Rules::DURATION_OR_ZERO,
        "seconds that a rebalance waits for work in progress on a partition that goes away (0: not at all); what takes longer the next " \
        "owner repeats. Must be shorter than `max.poll.interval.ms`"
      setting :max_consume_time, 3600.0, Rules::DURATION.or(nil),
        "seconds that a call of a consumer may take without marking a message before `/live` and systemd's watchdog take " \
        "the process for dead. nil: any time"
      setting :middleware, [], CALLABLES,
        "runs around each call of a consumer's method: `call(call) { … }` yields once; the first is the outermost"
      setting :producer_middleware, [], CALLABLES,
        "steps that each message passes before it is encoded and produced: called with the message's Hash, return the Hash that goes on"
      setting :metrics, [], RECORDERS, "where metrics go ([monitoring](kafka_monitoring.md))"
      setting :health, nil, HEALTH.or(nil),
        "answers probes over HTTP: `{port: 9292}`, and `host:`, the address to listen on; with a `token:` also `/state` " \
        "([top](kafka_operating.md#what-a-process-does-now)). nil: it does not"
      setting :commands, nil, COMMANDS.or(nil),
        "takes commands from the dashboard and from `guildhall command`: `{public_key: ENV[\"GUILDHALL_COMMANDS_KEY\"]}`, and " \
        "`allow:`, `topic:`, `insecure:` ([commands](kafka_commands.md)). nil: it takes none"
      setting :error_reports, {}, ERROR_REPORTS,
        "`{messages: true}`: logs, events, traces and error trackers get all of an error's message, which may quote a payload " \
        "([errors](kafka_errors.md)). `{attempts: true}`: error trackers get each attempt"
      setting :reports, false, REPORTS.with(others: [true, false].freeze),
        "what each process does is written to a topic, for the dashboard: true, or `{topic: \"guildhall.reports\", " \
        "messages: true}` ([reports](kafka_monitoring.md#reports)). false: it is not"
      setting :attention, {}, Reporting::Limits::RULE,
        "from where on the dashboard and `guildhall top` call for a person: `old:`, `very_old:`, `slow:`, `memory:`, `errors:`, " \
        "`dead_letters:`, `rebalances:`, `topics:` ([attention](web.md#what-needs-attention))"
      setting :garbage_collection, :ruby, OptionRules.one_of(:ruby, :deferred),
        "`:deferred`: full collections while no consumer is at work, or once memory has grown, for topics whose payloads are " \
        "Hashes ([garbage collection](kafka_scaling.md#garbage-collection)). `:ruby`: as Ruby decides"
      setting :outbox, false, Rules::BOOLEAN,
        "whether `guildhall server` and `swarm` send what `Guildhall::Outbox` has written to the database ([outbox](kafka_outbox.md))"
      setting :pool, nil, OptionRules.object("a Guildhall::Pool", :dispatch).or(nil),
        "the pool that payloads are dispatched to, such as `Guildhall.pool`; nil: one of the application's own"
      setting :logger, nil, LOGGER.or(nil),
        "where the application's and librdkafka's log goes. Unless set: of `guildhall server` standard output from " \
        "INFO on, else standard error from WARN on. nil, set by hand: silence"
      RULES = settings.rules
      private_constant :RULES

      attr_reader(*(settings.names - [:group_id]))
      attr_writer(*settings.names)

      # @yield as {Application#publish} is called
      def initialize(&publish)
        @tokens = Tokens.new(self, &publish || ->(_name, **_payload) {})
        self.class.settings.each do |setting|
          instance_variable_set(:"@#{setting.name}", setting.default.dup) unless setting.name == :logger # see {#logger_given?}
        end
      end

      # Noted, to be reported with all that is wrong.
      # @!visibility private
      def max_wait_time=(_seconds)
        @without_counterpart = "max_wait_time has no counterpart: remove it, for a batch is handed out as soon as it can be consumed. " \
                               "How large it may be: max_messages, max_bytes"
      end

      # @return [Boolean] whether {#logger} was set, if only to nil
      def logger_given? = instance_variable_defined?(:@logger)

      # (see #group_id=)
      def group_id
        @group_id || (@kafka.is_a?(Hash) && (@kafka[:"group.id"] || @kafka["group.id"])) || "guildhall"
      end

      # @return [Hash{Symbol=>Object}] librdkafka's settings of each client, with what brings its tokens
      def librdkafka = {**connection, **(@oauth_token ? {Tokens::SETTING => @tokens} : {})}

      # @return [Boolean] whether messages of errors are shown in full: see {#error_reports}
      def messages_of_errors? = @error_reports.is_a?(Hash) && @error_reports[:messages] == true

      # @!visibility private
      # @return [Boolean] whether error trackers get each attempt
      def attempts_of_errors? = @error_reports.is_a?(Hash) && @error_reports[:attempts] == true

      # @!visibility private
      # @return [String, nil] {#release}, or what the environment calls it
      def release_name = release || ENV.values_at(*RELEASES).compact.find { |text| !text.empty? }

      # @return [Hash{Symbol=>Object}, nil] topic and messages of {#reports}; nil: there are none
      def report_settings = @reports ? {**REPORTING, **(@reports == true ? {} : @reports)} : nil

      # @return [Reporting::Limits] of {#attention}
      def attention_limits = Reporting::Limits.given(@attention)

      # @return [String, nil] where commands come from; nil: none are taken
      def commands_topic = (@commands.fetch(:topic, Commanding::TOPIC) if @commands.is_a?(Hash))

      # @return [Array<Symbol>] the actions of commands that this process takes
      def commands_taken = @commands.is_a?(Hash) ? @commands.fetch(:allow, Commanding::Settings::ALLOWED) : []

      # @return [String] where what concerns reports is looked for, and outcomes of commands go, also without {#reports}
      def reports_topic = (report_settings || REPORTING).fetch(:topic)

      # Adds everything that is wrong.
      def validate(problems)
        problems.add(*setting_errors(RULES), *@without_counterpart)
        problems.add(*Partition::Backoff.new(self).problem)
        validate_kafka(problems) if @kafka.is_a?(Hash)
        LibrdkafkaSettings.validate(@producer, problems, "producer") if @producer.is_a?(Hash)
        validate_tokens(problems) if problems.to_a.empty?
      end

      def validate!
        problems = Problems.new
        validate(problems)
        problems.raise!
      end

      # @return [String] without values, for some of them are secret
      def inspect = "#<#{self.class} of group #{group_id}>"

      def freeze
        @kafka = Secrets.hide(connection)
        @producer = Secrets.hide(@producer.transform_keys(&:to_sym))
        instance_variables.each do |name|
          value = instance_variable_get(name)
          instance_variable_set(name, value.dup.freeze) if value.is_a?(Array) || value.is_a?(Hash)
        end
        super
      end

      private

      def unknown_text(name, prefix = "")
        return super unless Routing::Topic.settings[name]

        "unknown setting #{prefix}#{name}: it belongs into a route, topic(\"orders\") { #{name} … }, or for all of them into defaults { … }"
      end

      def connection = @kafka.transform_keys(&:to_sym)

      def validate_tokens(problems)
        found = [["kafka", librdkafka], ["producer", {**librdkafka, **@producer.transform_keys(&:to_sym)}]].map do |owner, settings|
          [owner, Tokens.problem(settings)]
        end
        owner, problem = found.find(&:last)
        problems.add("#{owner}: #{problem}") if problem
      end

      def validate_kafka(problems)
        servers = @kafka.transform_keys(&:to_s).values_at("bootstrap.servers", "metadata.broker.list")
        problems.add('kafka needs "bootstrap.servers"') if servers.all? { |value| value.to_s.empty? }
        LibrdkafkaSettings.validate(@kafka, problems)
        group = @kafka[:"group.id"] || @kafka["group.id"]
        return if group.nil? || @group_id.nil? || group == @group_id

        problems.add("group_id (#{@group_id}) and kafka group.id (#{group}) differ: set one of them")
      end

      # Collects everything that is wrong with settings and routes, so that all of it is reported at once.
      # @api private
      class Problems
        def initialize
          @messages = []
        end

        def add(*messages)
          @messages |= messages
        end

        def to_a = @messages.dup

        def raise!
          return if @messages.empty?

          noun = @messages.size == 1 ? "error" : "errors"
          raise ConfigurationError, "#{@messages.size} #{noun} in the configuration of Kafka:\n" +
                                    @messages.map { |message| "  - #{message}" }.join("\n")
        end
      end
    end
  end
end
