# frozen_string_literal: true

module Guildhall
  module Karafka
    # The deserializer in Karafka's routes. It gives a message what workers have made of its payload, if they were given it, and
    # decodes it in place where not: batches that are too small, messages that the application has made, payloads that were changed,
    # second attempts, and whatever workers could not do.
    #
    # Made by {Karafka.parallel}. Used by any thread of the main Ractor.
    class Deserializer
      # What the pool makes of one message's payload.
      Pending = Struct.new(:future, :index, :payload) do
        # Waits for this payload alone. Of a batch that the pool has left to its readers, later payloads do not run for an earlier
        # one, which would wait for a payload that never returns, or fail in its place. That costs less than a microsecond each.
        def outcome = future[index]

        # @param raw_payload [String, nil] the message's own, now
        # @return [Boolean] ASCII alone is equal in all encodings
        def of?(raw_payload) = payload == raw_payload && payload.encoding == raw_payload.encoding
      end
      CARRIED = :@guildhall_pending
      # Of payloads that no worker has run to their end: they say nothing of the results.
      NOT_RUN = [CancelledError, StuckError, WorkerDiedError, PoolSaturatedError, PoolClosedError].map(&:name).freeze
      private_constant :Pending, :CARRIED, :NOT_RUN

      # @param task [#call] takes a payload, or a payload and its metadata
      # @raise see {Karafka.parallel}
      def initialize(task, plugin)
        check(task)
        @task = Shareable.callable!(task, "deserializer")
        @plugin = plugin
        @metadata = Callable.takes_metadata?(@task)
        @native = native?(@task)
        @copies = !@metadata && (@native || !codec_of(@task).nil?) # a decoder in C takes a copy of what is not frozen, where it keeps it
        @refused = false
        inspection = Inspection.of(@task)
        @keeps_state = inspection.keeps_state?
        @tried = inspection.own? # true: its results are its own, as no worker could give out what belongs to the main Ractor
      end

      # Called by Karafka, when a payload is first asked for. Waits for the worker that decodes it.
      # @return [Object, DROPPED, nil] DROPPED for what a pipeline's `select` leaves out
      # @raise what the task raises
      def call(message)
        pending = message.instance_variable_get(CARRIED) or return without_workers(message)
        give(message, nil) # given out once
        take(pending, message)
      end

      # Gives a batch to the pool. Never waits.
      # @param messages [Array<::Karafka::Messages::Message>] of one partition
      # @param source [String] whose batches take turns with other sources'
      # @return [Pool::Future, nil] nil: it is decoded in place
      # @raise what the pool's `dispatch` raises
      def dispatch(messages, source)
        settings = @plugin.settings
        return if @refused || !workers?(settings)

        messages = messages.reject { |message| message.raw_payload.nil? } if messages.any? { |message| message.raw_payload.nil? }
        give_out(messages, source, settings) if messages.size >= settings.min_payloads
      rescue IsolationError => error # found by a worker: it will never run there
        @refused = true
        raise in_own_words(error)
      end

      def inspect
        "#<Guildhall::Karafka.parallel #{@task.inspect}>"
      end

      private

      # Copies share the bytes; the messages' own Strings stay as they are, and may change.
      def give_out(messages, source, settings)
        payloads = messages.map { |message| Shareable.bytes(message.raw_payload) }
        future = hand_over(messages, payloads, source:, parallel: settings.parallel, deadline: settings.deadline)
        messages.each_with_index { |message, index| give(message, Pending.new(future, index, payloads[index])) }
        future
      end

      # A message carries what is pending of it, and takes it along when nobody reads it. A weak map beside them takes longer for each
      # message than handing it over, and the collector visits it each time.
      def give(message, pending) = message.instance_variable_set(CARRIED, pending)

      # The empty batch starts nothing; it finds out whether workers can run the task.
      def check(task)
        Pool.new(workers: 0).dispatch([], task, prepare: false)
      end

      # A Document alone is made in about the time that handing its payload over takes: workers gain nothing, and take a core from
      # librdkafka. Hashes that workers make cost more than they win while all Ractors share one garbage collector.
      def workers?(settings)
        settings.parallel.nil? ? !@native : settings.parallel
      end

      # Whether nothing written in Ruby follows a decoder in C; what such a decoder makes is shareable.
      def native?(task)
        return true if task.respond_to?(:value_decoder) && task.value_decoder

        !codec_of(task).nil? && !(task.is_a?(Pipeline) && task.rest)
      end

      # @return [Codec, nil] with a native decoder
      def codec_of(task)
        codec = task.is_a?(Pipeline) ? task.decoder : task
        codec if codec.is_a?(Codec) && codec.native_decoder
      end

      # What a worker could not do may return what belongs to the main Ractor: that is copied.
      def take(pending, message)
        return replaced(message) unless pending.of?(message.raw_payload)

        outcome = pending.outcome
        if outcome.is_a?(Failure)
          return NOT_RUN.include?(outcome.error_class) ? in_place(message) : in_place(message, copy: true)
        end

        @tried ||= pending.future.parallel?
        @plugin.count(:taken)
        outcome
      end

      # The codec's `prepare` may ask a registry, which would hold up Karafka's listener: what workers cannot decode without is
      # fetched by the thread that first asks for such a payload.
      def hand_over(messages, payloads, **)
        return @plugin.pool.dispatch(payloads, @task, prepare: false, **) unless @metadata

        envelopes = messages.each_with_index.map { |message, index| Envelope.of(message, payloads[index]) }
        @plugin.pool.dispatch(envelopes, @task, records: true, prepare: false, **)
      end

      def replaced(message)
        @plugin.count(:replaced)
        in_place(message)
      end

      # The pool says "and so nowhere", which is not so here.
      def in_own_words(error)
        reason = error.message.split(" nowhere: ", 2).last
        IsolationError.new("#{Inspection.name_of(@task)} cannot run on workers; its payloads are decoded in the consumer's thread from " \
                           "now on: #{reason}", findings: error.findings)
      end

      # Small batches, batches that are decoded in place, second attempts, tombstones, the application's own messages. Or else nobody
      # hears of batches: Karafka's set-up has replaced its monitor since this was made.
      def without_workers(message)
        @plugin.follow_monitor
        in_place(message)
      end

      # The application may have put anything into its own message.
      def frozen_bytes(payload) = String === payload ? Shareable.bytes(payload) : payload.dup.freeze

      # Gets and returns what it would on a worker, so that consumers see no difference.
      # @param copy [Boolean] whether the result may have parts of the application's own objects, whatever is known of the task
      def in_place(message, copy: !@tried || @keeps_state)
        return run(message.raw_payload, message) unless @plugin.settings.enabled

        @plugin.count(:in_place)
        payload = message.raw_payload
        value = run(@copies ? payload : frozen_bytes(payload), message)
        @native ? value : frozen(value, copy)
      end

      # As the pool does. What cannot be shared is left as it was.
      def frozen(value, copy)
        return value if !copy && Shareable.plain?(value)

        Ractor.shareable?(value) ? value : Shareable.result(value, @task)
      rescue NotShareableError
        value
      end

      # Karafka gives its deserializers tombstones, too; codecs have nothing to decode there.
      def run(payload, message)
        return run_with_metadata(frozen_bytes(payload), message) if @metadata

        @task.call(payload) unless payload.nil?
      end

      def run_with_metadata(payload, message) = @task.call(payload, Envelope.of(message, payload))
    end
  end
end
