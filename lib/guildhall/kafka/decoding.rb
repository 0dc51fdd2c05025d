# frozen_string_literal: true

require "guildhall/pool"
require_relative "decoding/raw"
require_relative "decoding/on_access"
require_relative "decoding/on_pool"
require_relative "decoding/by_reader"
require_relative "decoding/record_decoder"

module Guildhall
  module Kafka
    # How the payloads of a topic are decoded: by the reader, on the pool's workers, or when they are asked for. Each
    # way answers `begin(records, source, documents)`, which does not block, with results: `[](index)` gives a value, a
    # {Failure}, or {DROPPED}, `wait` blocks until all are there, and `again` lets what failed be done anew.
    module Decoding
      # @param topic [Routing::Topic]
      # @param config [Config]
      # @yieldreturn [Guildhall::Pool] asked for only where there is work for it
      # @return [#begin, #codec]
      def self.for(topic, config, &pool)
        deserializer = topic.deserializer or return Raw.new
        return OnAccess.new(deserializer) if topic.lazy == :on_access

        codec, rest = split(deserializer)
        return on_workers(deserializer, topic, config, pool) if rest && workers?(rest, topic, config)

        following = rest && OnAccess.new(rest)
        stage = deserializer.names.first if deserializer.is_a?(Pipeline)
        return ByReader.new(codec, stage, following, way(deserializer, topic, config, pool)) if codec

        way(deserializer, topic, config, pool)
      end

      # @param error [Exception]
      # @param index [Integer]
      # @param stage [Symbol, nil] of the pipeline; nil: the one that the pipeline has noted
      # @return [Failure]
      def self.failure(error, index, stage = nil)
        Failure.of(error, index, stage)
      end

      # @return [Array(Codec, #call)] the codec that the reader can run, and what is left to do then; nil where there
      #   is none
      def self.split(deserializer)
        codec = deserializer.is_a?(Pipeline) ? deserializer.decoder : deserializer
        return [nil, nil] unless codec.respond_to?(:native_decoder) && codec.native_decoder

        [codec, deserializer.is_a?(Pipeline) ? deserializer.rest : nil]
      end
      private_class_method :split

      # Where stages in Ruby follow, workers decode too: the reader is one thread, they are several.
      def self.on_workers(pipeline, topic, config, pool)
        OnPool.new(RecordDecoder.begin_of(pipeline), pool.call, topic.parallel, config.deserializing.parallel.min_payloads,
          whole: pipeline)
      end
      private_class_method :on_workers

      def self.workers?(rest, topic, config)
        config.deserializing.parallel.active && topic.parallel != false && Ractor.shareable?(rest)
      end
      private_class_method :workers?

      def self.way(task, topic, config, pool)
        parallel = topic.parallel
        return OnAccess.new(task) if parallel == false || !config.deserializing.parallel.active
        return OnPool.new(task, pool.call, parallel, config.deserializing.parallel.min_payloads) if parallel || Ractor.shareable?(task)

        OnAccess.new(task)
      end
      private_class_method :way
    end
  end
end
