# frozen_string_literal: true

require "guildhall/printable"
require_relative "../broker/librdkafka"
require_relative "../settings/rules"

module Guildhall
  module Kafka
    class Config
      # Names and values of librdkafka's settings, checked by librdkafka itself.
      # @api private
      module LibrdkafkaSettings
        # Settings that the framework decides: name => [its value, why an application must not set another].
        RESERVED_SETTINGS = {
          "enable.auto.offset.store" => ["false", "offsets are stored after the work is done"],
          "enable.auto.commit" => ["true", "commit_interval says how often the stored offsets are committed"],
          "auto.commit.interval.ms" => [nil, "that is the setting commit_interval, in seconds"]
        }.freeze
        # Better than librdkafka's defaults for a consumer that wants throughput; the application's setting wins.
        DEFAULTS = {
          # A full local queue stops fetching for this long: a whole second by default.
          "fetch.queue.backoff.ms": 5,
          # A request that names only partitions with nothing new waits at the broker for this long, and no other is sent meanwhile: a
          # partition whose queue was full, and is empty by now, gets nothing until then. Half a second by default.
          "fetch.wait.max.ms": 50,
          # The limit of each partition, because each has a queue of its own here. More makes nothing faster: memory that is used again and
          # again stays in the caches.
          "queued.max.messages.kbytes": 8_192,
          "socket.keepalive.enable": true
        }.freeze

        ADDRESSES = %i[bootstrap.servers metadata.broker.list].freeze
        ADDRESS = %r{\A(?:(?:plaintext|ssl|sasl_plaintext|sasl_ssl)://)?[^@/]*/?\z}i # as librdkafka reads them
        NO_URL = "takes HOST:PORT, with commas: remove schemes (kafka+ssl://) and users from the addresses, and set security.protocol, " \
                 "sasl.username and sasl.password"
        private_constant :ADDRESSES, :ADDRESS, :NO_URL

        # For `config.kafka` and the like. The message has only the class of another value, which may hold a password.
        RULE = OptionRules.rule("a Hash of librdkafka settings") do |value|
          value.is_a?(Hash) || "must be a Hash of librdkafka settings, not #{Secrets.kind(value)}"
        end

        def self.validate(settings, problems, owner = "kafka")
          settings.each do |name, value|
            ours, reason = RESERVED_SETTINGS[name.to_s]
            next problems.add("#{owner} must not set #{name}: #{reason}") if reason && ours != value.to_s

            problem = unusable(name, value) || problem_with(name.to_s, value.to_s)
            problems.add("#{owner}: #{problem}") if problem
          end
        end

        # Lets librdkafka check all settings of a client together: it makes one, without brokers, which is dropped. Takes less than a
        # millisecond, but for certificates that have to be read.
        # @param settings [Hash{Symbol=>Object}] whose names and values are good
        def self.validate_together(settings, type, problems, owner)
          config = Rdkafka::Bindings.rd_kafka_conf_new
          error = FFI::MemoryPointer.new(:char, ERROR_BYTES)
          Tokens.without(settings).except(*WITH_EFFECTS).merge(log_level: 0).each do |name, value|
            Rdkafka::Bindings.rd_kafka_conf_set(config, name.to_s, value.to_s, error, ERROR_BYTES)
          end
          error.clear
          handle = Rdkafka::Bindings.rd_kafka_new(type, config, error, ERROR_BYTES)
          made = !handle.null?
          problem = made ? Tokens.problem(settings) : without_secrets(text(error), settings)
          problems.add("#{owner}: #{problem}") if problem
        ensure
          # A client that was made owns its configuration.
          made ? Broker::Librdkafka.rd_kafka_destroy(handle) : Rdkafka::Bindings.rd_kafka_conf_destroy(config)
        end

        # Settings that make a client connect, start something, or log.
        WITH_EFFECTS = %i[bootstrap.servers metadata.broker.list test.mock.num.brokers test.mock.broker.rtt plugin.library.paths debug
                          statistics.interval.ms].freeze
        ERROR_BYTES = 512
        private_constant :WITH_EFFECTS, :ERROR_BYTES

        def self.without_secrets(text, settings)
          settings.reduce(text) { |left, (name, value)| Secrets.without(left, name, value.to_s) }
        end

        # @return [Boolean] whether this librdkafka takes the setting
        def self.known?(name, value) = problem_with(name, value).nil?
        private_class_method :without_secrets

        # @return [String, nil] why librdkafka cannot be asked about the setting
        def self.unusable(name, value)
          text = Settings::Rules::TEXT
          return "the name of a setting must be #{text.expected}, not #{name.to_s.inspect}" if text.problem(name.to_s)
          return "#{name} takes one String, with commas, not #{shown(name, value)}" if value.is_a?(Enumerable)
          return "#{name} must be #{text.expected}, not #{shown(name, value)}" if text.problem(value.to_s)

          "#{name} #{NO_URL}" if ADDRESSES.include?(name.to_sym) && value.to_s.split(",").any? { |address| !address.strip.match?(ADDRESS) }
        end

        # A name that librdkafka does not know may be that of a secret, with a slip in it.
        def self.shown(name, value)
          Broker::Librdkafka.property_names.include?(name.to_s) ? Secrets.shown(name, value) : Secrets.kind(value)
        end

        # @return [String, nil] why librdkafka refuses the setting
        def self.problem_with(name, value)
          config = Rdkafka::Bindings.rd_kafka_conf_new
          error = FFI::MemoryPointer.new(:char, ERROR_BYTES)
          answer = Rdkafka::Bindings.rd_kafka_conf_set(config, name, value, error, ERROR_BYTES)
          return if answer == :config_ok

          hint = Suggestion.for(name, Broker::Librdkafka.property_names) if answer == :config_unknown
          "#{Secrets.without(text(error), name, value)}#{hint}"
        ensure
          Rdkafka::Bindings.rd_kafka_conf_destroy(config) if config
        end

        def self.text(error) = Printable.valid(error.read_string).strip
        private_class_method :unusable, :shown, :problem_with, :text
      end

      # Secret values of librdkafka's settings: no message, no `inspect` and no log has them.
      # @api private
      module Secrets
        NAMES = /password|passphrase|secret|private\.key|key\.pem|\Assl_key\z|\Asasl\.oauthbearer\.config\z|token\z/
        # Credentials within an address.
        IN_ADDRESS = %r{://[^/@\s]+@}
        HIDDEN = "[hidden]"
        private_constant :NAMES, :IN_ADDRESS

        # A String that hides its content where objects are printed: in a Hash, an instance variable, an error of Ruby's.
        class Secret < String
          def inspect = HIDDEN
          def pretty_print(printer) = printer.text(HIDDEN)
        end

        # @return [Hash{Symbol,String=>Object}] the same, to be printed without harm
        def self.hide(settings)
          settings.to_h { |name, value| [name, secret?(name, value) && value.is_a?(String) ? Secret.new(value).freeze : value] }
        end

        def self.secret?(name, value = nil)
          name.to_s.b.match?(NAMES) || (value.is_a?(String) && value.b.match?(IN_ADDRESS))
        end

        # @param text [String] of somebody else's, which may quote the value
        def self.without(text, name, value)
          secret?(name, value) && !value.empty? ? text.gsub(value.dup.force_encoding(text.encoding), HIDDEN) : text
        end

        # @return [String] the value as Ruby writes it, or its class only where it may be secret
        def self.shown(name, value)
          text = value.inspect
          secret?(name, text) ? kind(value) : text
        end

        # For a value that may be secret, or hold a secret.
        def self.kind(value)
          return "nil" if value.nil?

          name = value.class.name || "object"
          "#{name.match?(/\A[AEIOU]/i) ? "an" : "a"} #{name}"
        end
      end
    end
  end
end
