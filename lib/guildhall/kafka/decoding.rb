# frozen_string_literal: true

require "English"
require "timeout"
require "guildhall/callable"
require "guildhall/clock"
require "guildhall/columns"
require "guildhall/failure"
require "guildhall/pipeline"
require "guildhall/pool"
require_relative "logging"

module Guildhall
  module Kafka
    # Decodes the payloads of one topic. Only this class chooses the place, once, when the application starts:
    #
    # - `:none`: there is no deserializer; the payload is the bytes.
    # - `:in_reader`: the codec has a native decoder, which the reader runs while it reads, without the GVL. Stages
    #   that follow run in the thread that asks for the payload; it also makes the Hashes of a codec that is not lazy.
    # - `:in_pool`: batches are dispatched to the pool as they are read. With `parallel: true` workers run all of them, else the pool
    #   decides for each (see {Pool::Decision}).
    # - `:on_access`: in the thread that asks for the payload.
    # @api private
    class Decoding
      # A codec's `prepare` that has failed is not called again for this long: otherwise waiting batches would keep runners busy with a
      # registry that does not answer.
      PREPARE_PAUSE_SECONDS = 5
      COLUMNS_KEPT = 100 # more than a consumer has: an application makes up paths as it goes
      private_constant :PREPARE_PAUSE_SECONDS, :COLUMNS_KEPT

      # The decoding stage of a pipeline whose payloads are Records: decodes each where its bytes lie.
      RecordDecoding = Data.define(:codec) do
        def call(record) = record.decode(codec)
      end

      # A codec that makes Hashes, as the reader has it: the reader parses the bytes, and the thread that asks for a payload makes the
      # objects. Workers that make them cost more than they win while all Ractors share one garbage collector.
      EagerCodec = Data.define(:codec) do
        def native_decoder = codec.value_decoder
      end

      attr_reader :place
      # @return [String, nil] why workers do not decode; nil: they do, or nothing is left for them
      attr_reader :reason

      # @param runners [Runtime::Runners, nil] prepare batches that need it; nil: the thread that reads a payload does
      # @yieldreturn [Guildhall::Pool] asked for only where there is work for it
      # @raise [ConfigurationError] where workers cannot run what the route wants them to run
      def initialize(topic, runners = nil, report: :itself.to_proc, &pool)
        @topic = topic
        @runners = runners
        @report = report
        @task = topic.deserializer
        @pipeline = @task.is_a?(Pipeline)
        @metadata = @task && Callable.takes_metadata?(@task)
        codec = @pipeline ? @task.decoder : @task
        @native = codec if codec.respond_to?(:native_decoder) && codec.native_decoder
        @native ||= @eager = eager(codec)
        @rest = @task.rest if @native && @pipeline
        @columns = {}.freeze
        @place = choose
        join(pool) if @place == :in_pool
      end

      # Who decodes, for people.
      def to_s
        case @place
        when :none then "nobody (no deserializer: payloads are Strings)"
        when :in_reader then @rest || @eager ? "reader (C), then consumer thread#{because}" : "reader (C)"
        when :in_pool then @topic.parallel ? "workers" : "workers, or consumer thread where the pool finds it faster"
        else "consumer thread#{because}"
        end
      end

      # Whether the route has a pipeline that workers cannot run.
      def refused? = @refused == true && @pipeline
      def stage = (@task.names.first if @pipeline)
      def codec = (@native if @place == :in_reader)

      # Whether payloads may be left out.
      def filtering? = @pipeline

      # Whether the payloads are what the reader's decoder makes.
      def complete? = @rest.nil?

      # Whether the payloads are Documents, which cost so little that those of a batch are made at once.
      def documents? = complete? && @eager.nil?

      # Begins to decode a batch that was read. Does not block.
      # @param source [Object] whose batches take turns with other sources' in the pool
      # @param decoded [Boolean, nil] whether the reader has decoded them, as far as they can be
      def begin(records, source, decoded = nil)
        payloads = DecodedPayloads.new(self, records, source, decoded)
        return payloads unless @place == :in_pool

        @preparing ? @runners&.push(payloads) : payloads.run
        payloads
      end

      # Called by {DecodedPayloads}, once for each batch, without tombstones. Blocks where the codec has something to prepare.
      # @return [Pool::Future, nil] nil: payloads are decoded by the thread that reads them
      def dispatch(records, source)
        return if records.empty? || (@preparing && !(may_prepare? && prepare(records)))

        input = documents_of_records? ? {metadata: records} : {records: true}
        @pool.dispatch(records, @pool_task, source:, parallel: @topic.parallel, prepare: false, **input)
      rescue StandardError # a pool that is saturated or closed, say: it must not cost the membership in the group
        nil
      end

      # Decodes one payload, which is no tombstone, in the thread that calls.
      def decode(record)
        return record.raw_payload unless @task

        @metadata ? @task.call(record.raw_payload, record) : @task.call(record.raw_payload)
      end

      # Runs the stages that follow the decoding, for one payload that the reader has decoded.
      def finish(document, record) = @rest ? @rest.call(document, record) : document

      # The columns of `pluck` and `rows`, which a consumer asks for with each batch: compiled the first time.
      # @param paths [Array]
      # @param names [Hash]
      # @raise [Guildhall::ArgumentError]
      def columns(paths, names)
        columns = paths.first if paths.size == 1 && paths.first.is_a?(Columns)
        columns ||= @columns[[paths, names.to_a]] || keep(paths, names)
        return columns unless @place == :none && columns.paths?

        raise Guildhall::ArgumentError, "topic #{@topic.name.inspect} has no deserializer, so that its payloads have no fields to read"
      end

      # Whether records say what messages would of everything that the columns take beside the payload.
      def plain_metadata?(columns)
        return true unless @topic.key_deserializer || @topic.headers_deserializer

        columns.metadata.none? { |column| column == :key || column == :headers || column.is_a?(String) }
      end

      private

      def keep(paths, names)
        columns = Columns.new(*paths, **names)
        kept = @columns.size < COLUMNS_KEPT ? @columns : {}
        @columns = kept.merge(Ractor.make_shareable([paths, names.to_a], copy: true) => columns).freeze
        columns
      end

      # `parallel: true` wants workers.
      def eager(codec)
        return if @pipeline || @topic.parallel || !codec.respond_to?(:value_decoder) || !codec.value_decoder

        Ractor.make_shareable(EagerCodec.new(codec)) # as the Records are, which refer to it
      end

      # Where stages in Ruby follow a native decoder, workers decode too: the reader is one thread, they are several.
      def choose
        return :none unless @task

        @reason = "lazy: :on_access" if @topic.lazy == :on_access
        return :on_access if @reason
        return :in_reader if @native && (@rest.nil? || !workers?(@rest))

        workers?(@task) ? :in_pool : :on_access
      end

      def workers?(task)
        @reason = "parallel: false" if @topic.parallel == false
        return false if @reason
        return true if @topic.parallel || Ractor.shareable?(task)

        Inspection.of(task).check!
        Shareable.check!(task, "deserializer")
      rescue Guildhall::Error => error
        refuse(error)
        false
      end

      # @param error [Exception] why workers cannot run the task, and what to change
      def refuse(error)
        @refused = true
        @reason = Logging::ApplicationFrame.shortened(error.message.split(" nowhere: ", 2).last)
      end

      def because = @reason && " (#{@reason})"

      # Loads the constants that the task names here, because a worker would have to wait for them. The empty batch starts no worker; it
      # finds out whether workers can run the task.
      def join(pool)
        codec = @pipeline ? @task.decoder || @task.stages.first.callable : @task
        @preparing = codec if codec.respond_to?(:prepare)
        @pool_task = documents_of_records? ? decoding_records : @task
        Inspection.of(@pool_task, load: true)
        @pool = pool.call
        @pool.dispatch([], @pool_task, prepare: false)
      rescue Guildhall::Error, Ractor::Error => error
        if @topic.parallel
          raise ConfigurationError,
            "topic #{@topic.name.inspect}: deserializing parallel: true, but workers cannot run the deserializer: #{error.message}"
        end
        refuse(error)
        @place = :on_access
      end

      # Whether Documents that workers make lie in the Records, so that no byte is copied. Where each Ractor has a collector of its own
      # a Record that a worker refers to would stay until all Ractors collect together.
      def documents_of_records? = @native && !COLLECTOR_PER_RACTOR

      # The same pipeline for Records. Its stages keep their names.
      def decoding_records
        Pipeline.new([Pipeline::Map.new(RecordDecoding.new(@native), name: stage), *@task.stages.drop(1)])
      end

      def may_prepare? = @prepare_failed_at.nil? || Clock.now - @prepare_failed_at >= PREPARE_PAUSE_SECONDS

      # Before a batch is dispatched, its codec may need something that no worker can get, such as the schemas that the batch names. This
      # is the application's code: a runner calls it, never the listener. If it fails, the thread that asks for a payload decodes it.
      def prepare(records)
        Callable.prepare(@preparing, records.map(&:raw_payload), records)
        prepared = true
      rescue SignalException, ::Timeout::ExitException
        raise # what interrupts the thread says nothing about the codec
      rescue Exception => error # rubocop:disable Lint/RescueException -- a LoadError would be raised by each payload in place of its own
        @report.call(error)
        false
      ensure
        @prepare_failed_at = Clock.now unless prepared # Thread.exit, too
      end
    end

    # The payloads of one batch: each is decoded once, by the reader, by a worker, or by the thread that first asks for it. Used by any
    # thread of the main Ractor.
    # @api private
    class DecodedPayloads
      # Kept for a payload that was decoded, and is nil.
      DECODED_NIL = Object.new.freeze
      private_constant :DECODED_NIL

      # The payloads from one index on: of the second part of a batch that was split.
      Slice = Data.define(:payloads, :first) do
        def [](index) = payloads[first + index]
        def wait = payloads.wait
        def filtering? = payloads.filtering?
        def again = payloads.again
        def ask_for_few = payloads.ask_for_few
        def columns(...) = payloads.columns(...)
        def rows_of_records?(columns) = payloads.rows_of_records?(columns)
      end

      # @param decoded [Boolean, nil] whether the reader has decoded the records, as far as they can be
      def initialize(decoding, records, source, decoded = nil)
        @decoding = decoding
        @records = records
        @source = source
        @decoded = decoded
        @values = nil # until one is asked for: who reads columns needs no Documents
        @undispatched = decoding.place == :in_pool
        @lock = Mutex.new if @undispatched
        @future = @outcomes = @places = nil
        @again = false
      end

      # Blocks until the payload of the record with this index is there.
      # @return [Object, Failure, DROPPED, nil] nil for a tombstone too
      def [](index)
        value = (@values || begin_values)[index]
        return DECODED_NIL.equal?(value) ? nil : value unless value.nil?

        value = outcome(index)
        @values[index] = value.nil? ? DECODED_NIL : value
        value
      end

      # Blocks until all of them are there.
      def wait
        run if @undispatched
        @future&.wait
        @records.each_index { |index| self[index] }
      end

      def filtering? = @decoding.filtering?

      # Few are asked for, one by one: no Documents are made of the others.
      def ask_for_few = @values ||= Array.new(@records.size)

      # Before another attempt: what failed is decoded again when it is read, unless it would end another thread.
      def again
        @again = true
        @values&.each_with_index { |value, index| @values[index] = nil if repeat?(value) }
      end

      # (see Decoding#columns)
      def columns(...) = @decoding.columns(...)

      # Whether `Record.rows` makes the rows that the payloads and their messages would.
      def rows_of_records?(columns) = @decoded && @decoding.complete? && @decoding.plain_metadata?(columns)

      # Dispatches the batch to the pool, once. Called by a runner where something has to be prepared first.
      def run
        @lock.synchronize do
          next unless @undispatched

          @future = @decoding.dispatch(without_tombstones, @source)
          @undispatched = false
        end
      end

      private

      # Another thread may have begun, and noted values, meanwhile.
      def begin_values
        values = @decoded && @decoding.documents? ? @records.first.class.documents(@records) : Array.new(@records.size)
        @values ||= values
      end

      def without_tombstones
        return @records unless @records.any?(&:tombstone?)

        place = -1
        @places = @records.map { |record| place += 1 unless record.tombstone? }
        @records.reject(&:tombstone?)
      end

      def outcome(index)
        record = @records[index]
        return if record.tombstone?
        return compute(index, record) if @lock.nil? || outcomes.nil?

        value = outcomes[@places ? @places[index] : index]
        repeat?(value) ? compute(index, record) : value
      end

      # If the pool has left the batch to the thread that asks, it decodes all of it in one go: payload by payload costs more.
      def outcomes
        run if @undispatched
        @outcomes ||= @future && (@future.deferred? ? @future.results : @future)
      end

      def repeat?(outcome) = @again && outcome.is_a?(Failure) && !outcome.fatal?

      def compute(index, record)
        value = read?(record) ? read(index, record) : @decoding.decode(record)
        ended = true
        value
      rescue SignalException, ::Timeout::ExitException
        raise # what interrupts the thread says nothing about the payload
      rescue Exception => error # rubocop:disable Lint/RescueException -- else it would fail the batch, whatever message asks for it
        ended = true
        Failure.of(error, index)
      ensure
        # Thread.exit. The reader's decoder ends no thread: somebody else has, which says nothing about the payload.
        @values[index] = Failure.fatal(index) unless ended || $ERROR_INFO || (@decoding.complete? && read?(record))
      end

      # Whether the reader has tried to decode it.
      def read?(record) = @decoded && !record.deferred?

      def read(index, record)
        error = record.decode_error
        error ? Failure.of(error, index, @decoding.stage) : @decoding.finish(record.document, record)
      end
    end
  end
end
