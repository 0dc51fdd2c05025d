# frozen_string_literal: true

require "json"
require "guildhall/clock"
require "guildhall/error_boundary"
require "guildhall/growing_pauses"
require_relative "broker/librdkafka"
require_relative "config/librdkafka_settings"
require_relative "reachability"

module Guildhall
  module Kafka
    # Brings tokens to all clients of an application that log in with SASL OAUTHBEARER. It asks `config.oauth_token` once for each cluster,
    # keeps what that answers, gives it to each client when that is made, and renews it before it expires. librdkafka's own way, a callback
    # for the whole process that is called when a client is polled, is not used: not every client is polled, and other libraries set it too.
    #
    # Each client of librdkafka's that the framework makes asks {.keeper} with its settings, which have the application's Tokens among them.
    class Tokens
      # Among a client's settings, under librdkafka's name for what brings tokens. It is not handed to librdkafka.
      # @api private
      SETTING = :oauthbearer_token_refresh_cb
      # Settings of librdkafka that bring tokens without us => their value.
      # @api private
      BUILT_IN = {"sasl.oauthbearer.method": "oidc", "enable.sasl.oauthbearer.unsecure.jwt": "true"}.freeze
      # What `config.oauth_token` may be.
      # @api private
      RULE = OptionRules.rule("an object with `call` that takes a Tokens::Client, or nothing") do |value|
        next "must be an object with `call`, not #{Config::Secrets.kind(value)}" unless value.respond_to?(:call)

        takes?(value, 0) || Settings::Rules.arity_problem(value, 1) || true
      end

      # For whom a token is wanted: what `config.oauth_token` is called with. `config` is librdkafka's setting `sasl.oauthbearer.config`,
      # which is the application's to use: nil unless it is set.
      Client = Data.define(:bootstrap_servers, :client_id, :config)

      class << self
        # @param settings [Hash{Symbol=>Object}] of a client
        # @return [Keeper, nil] nil: it needs no tokens, or does not get them from us
        def keeper(settings) = (settings[SETTING]&.keeper(settings) if needed?(settings) && !built_in(settings))

        # @return [Hash{Symbol=>Object}] what librdkafka knows
        def without(settings) = settings.except(SETTING)

        # Whether a client logs in with a token.
        def needed?(settings)
          mechanism = settings[:"sasl.mechanism"] || settings[:"sasl.mechanisms"]
          mechanism.to_s == "OAUTHBEARER" && settings[:"security.protocol"].to_s.match?(/sasl/i)
        end

        # @return [String, nil] why clients with these settings would wait for a token for ever, and say nothing
        def problem(settings)
          return unless needed?(settings)

          case [built_in(settings), settings[SETTING]]
          in [nil, nil]
            "sasl.mechanism OAUTHBEARER needs tokens: set config.oauth_token to what brings them" \
            "#{", or sasl.oauthbearer.method oidc" if oidc?}"
          in [[name, value], Tokens]
            "#{name} #{value} and oauth_token exclude each other: librdkafka would fetch tokens itself; remove one"
          else nil
          end
        end

        # @!visibility private
        def takes?(callable, count) = Settings::Rules.arity_problem(callable, count).nil?

        private

        def built_in(settings) = BUILT_IN.find { |name, value| settings[name].to_s == value }

        # Precompiled gems have none.
        def oidc? = Config::LibrdkafkaSettings.known?("sasl.oauthbearer.method", "oidc")
      end

      # What `config.oauth_token` has answered, checked.
      # @!attribute [r] expires_at
      #   @return [Float] seconds since 1970
      # @!attribute [r] renew_at
      #   @return [Float] seconds since 1970: when the next one is asked for
      # @api private
      Token = Data.define(:value, :expires_at, :principal, :extensions, :renew_at) do
        def valid? = left.positive?

        # @return [Float] seconds
        def left = expires_at - Time.now.to_f
        def inspect = "#<#{self.class} of #{principal}>"
        alias_method :to_s, :inspect
        def pretty_print(printer) = printer.text(inspect)
      end

      # Reads an answer of `config.oauth_token`. What is wrong is said without any value: it may be the token.
      class Answer
        MEMBERS = {token: "a String", expires_at: "a Time, or seconds since 1970", principal: "a String",
                   extensions: "a Hash of Strings"}.freeze
        TOKEN = /\A[\x21-\x7E]+\z/
        PRINCIPAL = /\A[^\0]+\z/
        EXTENSION = /\A[A-Za-z]+\z/
        EXTENSION_VALUE = /\A[\x20-\x7E\t\r\n]*\z/
        LIFE_USED = (0.75..0.85) # at random: processes that were started together do not ask together
        LATEST = 10_000_000_000 # in the year 2286: a number beyond it counts milliseconds
        private_constant :MEMBERS, :TOKEN, :PRINCIPAL, :EXTENSION, :EXTENSION_VALUE, :LIFE_USED, :LATEST

        # @param default [String] the principal, where neither the answer nor the token names it: librdkafka's log has it
        # @return [Token]
        # @raise [Guildhall::ArgumentError] saying what is wrong, to follow "config.oauth_token has answered"
        def self.read(answer, default) = new(answer).token(default)

        def initialize(answer)
          @answer = answer.is_a?(Hash) ? {**answer} : answer # without its own ways to answer: they may raise
        end

        def token(default)
          check_members
          value = text(:token, TOKEN, "has a space, a line break or another character that no token has")
          claims = claims(value)
          expires_at = time(@answer.fetch(:expires_at) { claims["exp"] })
          principal = @answer[:principal] ? text(:principal, PRINCIPAL, "is empty, or has NUL bytes") : subject(claims) || default
          Token.new(value: value.dup.freeze, expires_at:, principal:, extensions:, renew_at: renewal(expires_at))
        end

        private

        def wrong(text) = raise(Guildhall::ArgumentError, text)

        def check_members
          kind = Config::Secrets.kind(@answer)
          wrong("#{kind}, not a Hash with token:, and expires_at: unless the token is a JWT") unless @answer.is_a?(Hash)

          unknown = @answer.keys - MEMBERS.keys
          return if unknown.empty?

          name = unknown.first
          shown = " #{name.to_s.inspect}" if name.to_s.match?(/\A\w{1,30}\z/)
          wrong("a Hash with the member#{shown}, which means nothing#{Suggestion.for(name, MEMBERS.keys)}: its members are " \
                "#{MEMBERS.keys.map(&:inspect).join(", ")}")
        end

        def text(name, pattern, problem)
          value = @answer[name]
          wrong("#{name}: that must be #{MEMBERS[name]}, and is #{Config::Secrets.kind(value)}") unless value.is_a?(String)
          wrong("#{name}: that #{problem}") unless value.b.match?(pattern)
          value
        end

        def time(given)
          wrong("without expires_at:, which the token does not say itself (it is no JWT with `exp`)") if given.nil?
          unless given.is_a?(Time) || (given.is_a?(Numeric) && given.real?)
            wrong("expires_at: that must be #{MEMBERS[:expires_at]}, and is #{Config::Secrets.kind(given)}")
          end
          seconds = given.to_f
          wrong("expires_at: #{given} is no time in seconds since 1970; are these milliseconds?") unless seconds.abs < LATEST
          late = Time.now.to_f - seconds
          wrong("a token that has expired #{late.round(1)} s ago: check its source, and this machine's clock") unless late.negative?
          seconds
        end

        def extensions
          given = @answer[:extensions] || {}
          wrong("extensions: that must be #{MEMBERS[:extensions]}, and is #{Config::Secrets.kind(given)}") unless given.is_a?(Hash)
          given.to_h do |name, value|
            wrong("extensions: names consist of letters, and `auth` is reserved") unless name.to_s.match?(EXTENSION) && name.to_s != "auth"
            fits = value.is_a?(String) && value.b.match?(EXTENSION_VALUE)
            wrong("extensions: #{name} has a value that is no String of printable ASCII") unless fits
            [name.to_s, value]
          end
        end

        def renewal(expires_at)
          now = Time.now.to_f
          now + ((expires_at - now) * rand(LIFE_USED))
        end

        # @return [String, nil] nil: it is none that librdkafka takes
        def subject(claims) = claims["sub"].then { |name| name if name.is_a?(String) && name.b.match?(PRINCIPAL) }

        # @return [Hash] empty: it is no JWT
        def claims(value)
          _, claims, signature = value.split(".", -1)
          found = signature && ::JSON.parse(claims.tr("-_", "+/").unpack1("m"))
          found.is_a?(Hash) ? found : {}
        rescue ::JSON::ParserError, EncodingError
          {}
        end
      end
      private_constant :Answer

      # The token of one cluster, the clients that have it, and the thread that renews it, which lives as long as there are clients.
      # @api private
      class Keeper
        FETCH_SECONDS = 30 # that the application's code may take
        PAUSES = GrowingPauses.new(1, 10) # seconds before another try
        LEAST_SECONDS = 1 # between two questions
        LOOK_SECONDS = 10 # for what no event says: the system's time was changed, clients were collected
        private_constant :FETCH_SECONDS, :PAUSES, :LEAST_SECONDS, :LOOK_SECONDS

        # @param give [#call] given a handle and a token, hands it over and answers librdkafka's code
        # @param publish [#call] as {Application#publish}
        # @yieldparam client [Client] the application's code
        def initialize(client, publish, give: Broker::Librdkafka.method(:set_token), fetch_seconds: FETCH_SECONDS, pauses: PAUSES, &source)
          @client = client
          @publish = publish
          @source = source
          @give = give
          @fetch_seconds = fetch_seconds
          @pauses = pauses
          @lock = Mutex.new
          @giving = Mutex.new
          @changed = ConditionVariable.new
          @holders = ObjectSpace::WeakMap.new # a client that nobody has closed, and nobody knows any more, is left to the GC
          @token = @failure = @outage = @pause = @thread = @asking = nil
          @asked_at = @next_at = 0
        end

        # Gives it the token, at once or as soon as there is one, and each one after it. Does not block.
        # @param client [#with_handle] whose handle lives until the block ends, and which raises Rdkafka::ClosedInnerError when it is closed
        def add(client)
          @lock.synchronize do
            @holders[client] = true
            @next_at = [@next_at, @asked_at + LEAST_SECONDS].min unless @token&.valid?
            @thread = start unless @thread&.alive?
            @changed.signal
          end
          hand_over(client)
        end

        # The client is being closed.
        def remove(client)
          @lock.synchronize do
            @holders.delete(client)
            @changed.signal
          end
        end

        # @return [TokenError, nil] why clients cannot log in now; nil: there is a token that is valid
        def error
          @lock.synchronize do
            next if @token&.valid?

            reason = @failure&.reason || "config.oauth_token has not returned yet, after #{(Clock.now - @asked_at).round(1)} s"
            TokenError.new(@client.bootstrap_servers, reason)
          end
        end

        def inspect = "#<#{self.class} #{@client.bootstrap_servers}>"

        private

        def start
          thread = Thread.new { keep }
          thread.name = "guildhall tokens"
          thread
        end

        def keep
          report = ->(error) { warn("guildhall: tokens: #{error.class}: #{ErrorBoundary.message(error)}") }
          ErrorBoundary.run(report) { renew } while wait
        end

        # @return [Boolean] false: there are no clients left
        def wait
          @lock.synchronize do
            loop do
              return @thread = nil if @holders.keys.empty? # `size` counts what was collected as well
              break if (left = left_to_wait) <= 0

              @changed.wait(@lock, [left, LOOK_SECONDS].min)
            end
            @asked_at = Clock.now
            @next_at = @asked_at + (@pause = @pauses.after(@pause))
          end
          true
        end

        # A token expires by the system's time, which may be set, and goes on while the machine sleeps.
        def left_to_wait = [@next_at - Clock.now, @token ? @token.renew_at - Time.now.to_f : 0].max

        def renew
          token = fetch
          @lock.synchronize { @token = token }
          clients.each { |client| hand_over(client) }
          outage = @lock.synchronize do
            next unless @token # librdkafka has not taken it

            @next_at = Clock.now + LEAST_SECONDS
            @failure = @pause = nil
            @outage.tap { @outage = nil }
          end
          @publish.call("oauth_token.available", servers: @client.bootstrap_servers, seconds: Clock.now - outage.first) if outage
        rescue TokenError => error
          failed(error)
        end

        def clients = @lock.synchronize { @holders.keys }

        # One after the other, so that a client does not get the token before the last.
        def hand_over(client)
          token, code = @giving.synchronize do
            token = @lock.synchronize { @token if @token&.valid? } or return
            [token, client.with_handle { |handle| @give.call(handle, token) }]
          end
          refused(token, code) unless code.zero?
        rescue Rdkafka::ClosedInnerError
          remove(client)
        end

        # The token was checked, but what librdkafka takes may change; or it has expired just now.
        def refused(token, code)
          @lock.synchronize do
            @token = nil if @token.equal?(token)
            @changed.signal # another one is asked for
          end
          failed(TokenError.new(@client.bootstrap_servers, "librdkafka does not take the token of config.oauth_token " \
                                                           "(#{Broker::Errors.name_of(code)})"))
        end

        # In a thread, for nobody else waits for code that hangs.
        def fetch
          @asking = ask unless @asking&.alive?
          unless @asking.join(@fetch_seconds)
            @asking.kill
            refuse("config.oauth_token has not returned within #{@fetch_seconds} s: give its requests time-outs (open_timeout, " \
                   "read_timeout)")
          end
          answer, raised = @asking.value
          raise_of(raised) if raised
          Answer.read(answer, @client.client_id)
        rescue Guildhall::ArgumentError => error
          refuse("config.oauth_token has answered #{error.message}")
        end

        def ask
          thread = Thread.new do
            [@source.call(@client), nil]
          rescue Exception => error # rubocop:disable Lint/RescueException -- whatever it is, the clients wait for a token
            [nil, error]
          end
          thread.name = "guildhall token"
          thread
        end

        def raise_of(raised)
          place = raised.backtrace_locations&.first
          place = " (#{File.basename(place.path)}:#{place.lineno})" if place
          refuse("config.oauth_token has raised #{raised.class}#{place}: #{ErrorBoundary.message(raised)}", raised)
        end

        def refuse(reason, cause = nil) = raise(TokenError.new(@client.bootstrap_servers, reason), cause:)

        def failed(error)
          now = Clock.now
          since, reminders, left = @lock.synchronize do
            @failure = error
            @outage ||= [now, Reachability::Reminders.new]
            [*@outage, @token&.left.to_f.clamp(0..)]
          end
          return unless reminders.due?([error.reason, left.zero?], now)

          @publish.call("oauth_token.unavailable", servers: @client.bootstrap_servers, error:, reason: error.reason, seconds: now - since,
            left:, reminder: reminders.announce)
        end
      end

      # @param config [Config] asked when a token is wanted
      # @param numbers [Hash{Symbol=>Object}] as for {Keeper#initialize}, for tests
      # @yield as {Application#publish} is called
      def initialize(config, **numbers, &publish)
        @config = config
        @numbers = numbers
        @publish = publish
        @lock = Mutex.new
        @keepers = {}
        @pid = Process.pid
      end

      # @param settings [Hash{Symbol=>Object}] of a client
      # @return [Keeper] the same for clients that log in at the same brokers with the same `sasl.oauthbearer.config`
      def keeper(settings)
        servers = (settings[:"bootstrap.servers"] || settings[:"metadata.broker.list"]).to_s
        own = settings[:"sasl.oauthbearer.config"]
        @lock.synchronize do
          @keepers = {} if @pid != Process.pid # its threads are the parent's
          @pid = Process.pid
          @keepers[[servers, own.to_s]] ||= keeper_for(servers, own)
        end
      end

      def inspect = "#<#{self.class}>"

      private

      def keeper_for(servers, own)
        client = Client.new(bootstrap_servers: servers.dup.freeze, client_id: @config.client_id,
          config: own && Config::Secrets::Secret.new(own.to_s).freeze)
        Keeper.new(client, @publish, **@numbers) { |wanted| call(@config.oauth_token, wanted) }
      end

      def call(source, client) = Tokens.takes?(source, 1) ? source.call(client) : source.call
    end
  end
end
