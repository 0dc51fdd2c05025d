# frozen_string_literal: true

require "guildhall/callable"
require "guildhall/pipeline"
require "guildhall/pool"
require "guildhall/pool/backlog_comparison"
require_relative "in_place"
require_relative "payloads"
require_relative "preparing"

module Guildhall
  module Kafka
    # How the bytes of messages become payloads.
    module Deserializing
      # Where the payloads of one topic are decoded. This class alone decides it, once, when the application starts:
      #
      # - `:none`: there is no deserializer; the payload is the bytes.
      # - `:in_reader`: the codec has a native decoder, which the reader runs while it reads, without the GVL. Stages
      #   that follow run in the thread that asks for the payload.
      # - `:in_pool`: batches are dispatched to the pool as they are read; {Pool::BacklogComparison} and the pool find out whether workers
      #   pay.
      # - `:on_access`: in the thread that asks for the payload.
      class Plan
        # @return [Symbol] :none, :in_reader, :in_pool or :on_access
        attr_reader :place
        # @return [Symbol, nil] what a pipeline calls the decoding
        attr_reader :stage
        # @return [String, nil] why workers decode nothing of it; nil: they do, or nothing is left for them
        attr_reader :reason

        # @param runners [Runtime::Runners, nil] prepare batches that need it; nil: the thread that reads a payload does
        # @param report [#call] takes what preparing a batch has raised
        # @yieldreturn [Guildhall::Pool] asked for only where there is work for it
        # @raise [ConfigurationError] where workers cannot run what the route wants them to run
        def initialize(topic, runners = nil, report: :itself.to_proc, &pool)
          @topic = topic
          @runners = runners
          @task = topic.deserializer
          @metadata = @task && Callable.takes_metadata?(@task)
          @filtering = topic.filtering?
          @stage = @task.names.first if @task.is_a?(Pipeline)
          @native, @rest = split
          @reason = nil
          @place = choose
          join(pool, report) if @place == :in_pool
        end

        # @return [String] who decodes, for people
        def to_s
          case @place
          when :none then "nobody (no deserializer)"
          when :in_reader then @rest ? "reader (C), then consumer thread#{because}" : "reader (C)"
          when :in_pool then @topic.parallel ? "workers" : "workers, or consumer thread where that is faster"
          else "consumer thread#{because}"
          end
        end

        # @return [Boolean] whether there is a pipeline that workers would run, if they could
        def refused? = @refused == true && @task.is_a?(Pipeline)

        # @return [Codec, nil] what the reader is to decode with
        def codec
          @native if @place == :in_reader
        end

        # @return [Boolean] whether payloads may be left out
        def filtering? = @filtering

        # @return [Boolean] whether the reader's documents are the payloads
        def complete?
          @rest.nil?
        end

        # Takes on a batch. Does not block.
        # @param source [Object] whose batches take turns with other sources'
        # @param documents [Array<Object, nil>, nil] what the reader has decoded of each; nil: it has not tried
        def begin(records, source, documents = nil)
          payloads = Payloads.new(self, records, source, documents)
          return payloads unless @place == :in_pool

          @preparing ? @runners&.push(payloads) : payloads.run
          payloads
        end

        # Called by {Payloads}, once for each batch. Blocks where the codec has something to prepare.
        # @param records [Array<Record>] without tombstones
        # @return [Array(Pool::Future | nil, Pool::BacklogComparison::Meter | nil), nil] no future: payloads are decoded by the thread that
        #   reads them; the meter, if there is one, is to count them
        def dispatch(records, source)
          return if records.empty?
          return [to_workers(records, source, true), nil] unless @comparison

          meter = @comparison.meter(records.first.class.bytes(records), records.size)
          [(to_workers(records, source, meter&.workers) unless meter&.workers == false), meter]
        end

        # Decodes one payload in the thread that calls.
        # @param record [Record] no tombstone
        def decode(record)
          return record.raw_payload unless @task

          @metadata ? @task.call(record.raw_payload, record) : @task.call(record.raw_payload)
        end

        # What is left to do with one payload that the reader has decoded.
        def finish(document, record)
          @rest ? @rest.call(document, record) : document
        end

        private

        # The codec that the reader can run, and what is left to do then.
        def split
          codec = @task.is_a?(Pipeline) ? @task.decoder : @task
          return [nil, nil] unless codec.respond_to?(:native_decoder) && codec.native_decoder

          [codec, (@task.rest if @task.is_a?(Pipeline))]
        end

        # Where stages in Ruby follow a native decoder, workers decode too: the reader is one thread, they are several.
        def choose
          return :none unless @task
          return on_access("lazy: :on_access") if @topic.lazy == :on_access
          return :in_reader if @native && (@rest.nil? || !workers?(@rest))

          workers?(@task) ? :in_pool : :on_access
        end

        def workers?(task)
          @reason = "parallel: false" if @topic.parallel == false
          return false if @reason
          return true if @topic.parallel || Ractor.shareable?(task)

          path, part = Shareable.find(@task, "deserializer")
          refused("#{path} is #{Shareable.article(Shareable.type_of(part))} that is not shareable")
          false
        end

        def on_access(reason)
          @reason = reason
          :on_access
        end

        def refused(reason)
          @refused = true
          @reason = reason
        end

        def because = @reason && " (#{@reason})"

        # What was found in the task's code, in short.
        def found(error)
          findings = error.is_a?(IsolationError) ? error.findings : []
          return error.message.split(" nowhere: ", 2).last if findings.empty?

          findings.map { |one| "#{one.thing} #{one.problem}#{", #{one.place.delete_prefix("#{Dir.pwd}/")}" if one.place}" }.join("; ")
        end

        # What the task names is loaded here, for a worker would have to wait for it. The empty batch starts nothing; it
        # finds out whether workers can run the task.
        def join(pool, report)
          @preparing = Preparing.for(@task, report)
          @pool_task = documents_of_records? ? InPlace.begin_of(@task) : @task
          Inspection.of(@pool_task, load: true)
          @comparison = Pool::BacklogComparison.new unless @topic.parallel
          @pool = pool.call
          @pool.dispatch([], @pool_task, prepare: false)
        rescue Guildhall::Error, Ractor::Error => error
          refuse(error) if @topic.parallel
          refused(found(error))
          @place = :on_access
        end

        # Whether Documents that workers make lie in the Records, so that no byte is copied. Where each Ractor has a collector of its own
        # a Record that a worker refers to would stay until all Ractors collect together.
        def documents_of_records? = @native && !COLLECTOR_PER_RACTOR

        def refuse(error)
          raise ConfigurationError,
            "topic #{@topic.name.inspect}: deserializing parallel: true, but workers cannot run the deserializer: #{error.message}"
        end

        # @param parallel [Boolean, nil] nil: as the pool thinks
        def to_workers(records, source, parallel)
          return if @preparing && !@preparing.call(records)

          input = documents_of_records? ? {metadata: records} : {records: true}
          @pool.dispatch(records, @pool_task, source:, parallel:, prepare: false, **input)
        rescue StandardError # a pool that is saturated or closed, say: it must not cost the membership in the group
          nil
        end
      end
    end
  end
end
