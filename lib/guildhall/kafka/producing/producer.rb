# frozen_string_literal: true

require_relative "../broker/native_client"
require_relative "../delaying"
require_relative "delivery"
require_relative "serializing"

module Guildhall
  module Kafka
    # Sends messages: the application's producer.
    module Producing
      # Makes the application's producer with the gem waterdrop, a dependency only of those who produce.
      module Producer
        # How the names of the settings begin that any client needs.
        SHARED = %w[client.id bootstrap.servers metadata.broker.list security. sasl. ssl. enable.ssl. socket. broker.].freeze
        # Whether a message is too big is for the broker to say, whose limit is the topic's; librdkafka and waterdrop would
        # refuse whatever is bigger than 1 MB, and a dead letter is a little bigger than the message was.
        MAX_MESSAGE_BYTES = 100_000_000
        # Unless the application says otherwise.
        DEFAULTS = {
          "request.required.acks": "all", "message.max.bytes": MAX_MESSAGE_BYTES,
          partitioner: "murmur2_random", # as the Java client: the same key goes to the same partition, from every producer
          "compression.codec": "lz4" # takes the least time of all; brokers from 0.10 on know it
        }.freeze
        IDEMPOTENCE = {"enable.idempotence": true}.freeze # no message twice or out of order because of a retry of librdkafka's
        # What librdkafka refuses beside idempotence: names of settings => whether a value is refused.
        CONFLICTS = {
          %i[acks request.required.acks] => ->(value) { !%w[all -1].include?(value) },
          %i[max.in.flight max.in.flight.requests.per.connection] => ->(value) { value.to_i > 5 },
          %i[retries message.send.max.retries] => ->(value) { value.to_i.zero? }, %i[queuing.strategy] => ->(value) { value != "fifo" }
        }.freeze
        CLOSE_GRACE_SECONDS = 0.5 # for closing without a broker, after what could not be delivered was dropped
        # How the names of the gems' threads begin that call back.
        CALLING_BACK = %w[waterdrop.poller# rdkafka.native_kafka#].freeze
        private_constant :SHARED, :DEFAULTS, :IDEMPOTENCE, :CONFLICTS, :CLOSE_GRACE_SECONDS, :CALLING_BACK

        # Extends waterdrop's producer: the errors of its methods say what to do.
        module ExplainedErrors
          %i[produce_sync produce_async produce_many_sync produce_many_async].each do |name|
            class_eval(<<~RUBY, __FILE__, __LINE__ + 1)
              # @raise [QueueFullError] when the producer's queue stays full
              def #{name}(...)    # def produce_sync(...)
                super             #   super
              rescue WaterDrop::Errors::ProduceError => error
                raise explained(error)
              end
            RUBY
          end

          private

          def explained(error)
            return error unless error.cause.is_a?(Rdkafka::RdkafkaError) && error.cause.code == :queue_full

            seconds = config.wait_timeout_on_queue_full / 1000.0
            error.exception("the producer's queue was full for #{seconds} s: messages are produced faster than the brokers take them. " \
                            "Produce slower (wait for the handles of produce_async), or raise queue.buffering.max.messages or " \
                            "queue.buffering.max.kbytes in config.producer").extend(QueueFullError)
          end
        end
        private_constant :ExplainedErrors

        class << self
          # Has to be called before the first Ractor. Zeitwerk, the autoloader of waterdrop, wraps `Kernel#require`, and so does
          # Ruby when it makes the first Ractor; if Ruby comes first, constants are not found any more.
          def load
            require "waterdrop"
            true
          rescue LoadError
            false
          end

          # Dead letters need a producer, and so do schedules.
          # @param loaded [Boolean] whether to load the gem, or only to look whether it is there
          def validate(topics, problems, loaded: false)
            needing = topics.select(&:needs_producer?)
            return if needing.empty? || (loaded ? load : installed?)

            needing.each do |topic|
              setting = topic.scheduled_tasks ? "schedule" : "dead_letter_queue"
              problems.add("topic #{topic.name.inspect}: #{setting}: #{missing}")
            end
          end

          # A message that the framework sends on (a dead letter, say) counts as done once the broker has it: with settings that do not
          # wait for that it would be lost.
          def validate_promise(topics, config, problems)
            return if topics.none?(&:needs_producer?)

            settings = settings(config)
            if %i[acks request.required.acks].any? { |name| settings[name].to_s == "0" }
              problems.add("producer acks 0 loses dead letters, messages for later and runs of a schedule: the producer does not wait " \
                           "for the broker")
            end
            return unless settings[:"transactional.id"]

            problems.add("producer must not set transactional.id beside a dead_letter_queue, delay_topics or a schedule: " \
                         "what these send is sent outside of transactions")
          end

          # @param topics [#call] returns the routes, whose serializers encode objects other than Strings
          # @raise [MissingDependencyError] without the gem waterdrop
          def create(config, topics, logger)
            raise MissingDependencyError, missing unless load

            made = WaterDrop::Producer.new do |producer|
              producer.deliver = true
              producer.kafka = settings(config)
              producer.max_payload_size = MAX_MESSAGE_BYTES
              producer.logger = logger
              producer.wait_on_queue_full = true
              producer.instrument_on_wait_queue_full = false
              producer.reload_on_idempotent_fatal_error = true
              steps(config, topics).each { |step| producer.middleware.append(step) }
              producer.middleware.extend(Wire::Middleware)
              producer.monitor.subscribe("producer.connected") { Broker::NativeClient.of(made.client) } # also after a fork or a fatal error
            end
            made.extend(ExplainedErrors, Delaying::DelayedProducing)
          end

          # What becomes of each message before it is sent.
          def steps(config, topics) = [*config.producer_middleware, Serializing.new(topics)]

          # Calls the block for a message of `produce_async` that is not delivered: its caller may not wait for it. A producer that is
          # closed before it could deliver reports that once, not for each message.
          def on_undelivered(producer)
            producer.monitor.subscribe("error.occurred") do |event|
              next if event[:type] != "librdkafka.dispatch_error" || event[:label] == Delivery::AWAITED

              error = event[:error]
              yield(error, {topic: event[:topic], partition: event[:partition]}) unless Broker::Errors.purged?(error.code)
            end
          end

          # Calls the block after each call of a method that produces.
          # @yieldparam figures [Hash{Symbol=>Object}] topic, size, bytes, seconds and sync
          def on_produced(producer)
            %w[sync async].each do |way|
              producer.monitor.subscribe("message.produced_#{way}") { |event| yield(figures([event[:message]], event, way)) }
              producer.monitor.subscribe("messages.produced_#{way}") { |event| yield(figures(event[:messages], event, way)) }
            end
          end

          # Delivers what was produced, and closes. Blocks until then, but drops what could not be delivered in time: waterdrop by itself
          # would wait for minutes. Messages that nobody waits for, the abandoned ones, are dropped at once.
          # @return [Boolean] whether everything else was delivered
          def close(producer, deadline, abandoned = [])
            drop(producer.client, deadline - CLOSE_GRACE_SECONDS, abandoned) if abandoned.any?(&:pending?)
            closing = in_thread { producer.close }
            return true if closing.join(Clock.left(deadline - CLOSE_GRACE_SECONDS, least: 0.1))

            in_thread { producer.purge } # it waits as well
            closing.join(Clock.left(deadline, least: CLOSE_GRACE_SECONDS))
            false
          end

          # The thread runs delivery callbacks: closing a producer waits for it.
          def calls_back?(thread) = thread.name.to_s.start_with?(*CALLING_BACK)

          # Those that any client needs.
          def shared(settings)
            Config::Secrets.hide(settings.transform_keys(&:to_sym).select { |name, _| name.start_with?(*SHARED) })
          end

          # A consumer's settings mean nothing to a producer, and waterdrop would complain of them.
          def settings(config)
            own = config.producer.transform_keys(&:to_sym)
            conflict = CONFLICTS.any? { |names, refused| own.slice(*names).any? { |_, value| refused.call(value.to_s) } }
            defaults = {"client.id": config.client_id, **DEFAULTS, **(conflict ? {} : IDEMPOTENCE)}
            Config::Secrets.hide({**shared(config.kafka), **defaults, **own})
          end

          private

          def figures(messages, event, way)
            topics = messages.map { |message| message[:topic] }.uniq
            {topic: (topics.first if topics.one?), size: messages.size, sync: way == "sync",
             bytes: messages.sum { |message| message[:payload].to_s.bytesize }, seconds: event.payload[:time].to_f / 1000}
          end

          # librdkafka cannot drop single messages: this waits until there are no others, but for those that waterdrop still buffers.
          def drop(client, limit, abandoned)
            until client.queue_size <= abandoned.count(&:pending?)
              return if Clock.now >= limit

              sleep(0.01)
            end
            in_thread { client.purge }.join(Clock.left(limit)) # it waits as well
          end

          def in_thread(&) = Thread.new(&).tap { |thread| thread.report_on_exception = false }

          def installed? = Gem.loaded_specs.key?("waterdrop") || Gem::Specification.find_all_by_name("waterdrop").any? || load

          def missing
            return "producing needs the gem waterdrop: add it to the Gemfile" unless Gem.loaded_specs.key?("waterdrop")

            'waterdrop cannot be loaded any more, because there was a Ractor before it: require "waterdrop" when the application is loaded'
          end
        end
      end
    end
  end
end
