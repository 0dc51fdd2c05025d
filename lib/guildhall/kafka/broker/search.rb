# frozen_string_literal: true

require "guildhall/json/path"
require "guildhall/pipeline"
require_relative "../decoding"
require_relative "../partition/error_kind"
require_relative "offset_range"
require_relative "session"

module Guildhall
  module Kafka
    module Broker
      # Looks for messages of a topic, without a consumer group: partitions side by side, in order within each partition. Payloads are
      # decoded by the reader, on the pool or by the thread that searches, as for {Iterator}; no more of a pipeline is run than its
      # decoding. Belongs to one thread; {#stop} may be called by any, also in a signal's trap.
      class Search
        # What has to be true of a message, all of it.
        # @!attribute where [JSON::Path::Condition, nil] of the decoded payload
        # @!attribute key [String, nil] its bytes
        # @!attribute headers [Hash{String=>String, nil}] each has to be among the message's; nil: with whatever value
        # @api private
        Conditions = Data.define(:where, :key, :headers) do
          # What can be said before the payload is looked at.
          def may_fit?(record)
            return false if key && record.key&.b != key
            return true if headers.empty?

            present = record.headers
            headers.all? { |name, value| present.key?(name) && (value.nil? || [*present[name]].any? { |own| own&.b == value }) }
          end
        end

        # A message that was found. failure: why its payload could not be decoded, else nil.
        Found = Data.define(:record, :payload, :failure)

        # How far a partition was searched. from, to: offsets, to without itself, Float::INFINITY where there is no end; position: the
        # offset where the search can be continued; messages, bytes: what was looked at.
        Place = Struct.new(:number, :from, :to, :position, :messages, :bytes) do
          def done? = position >= to
        end

        # How much was searched, and what came of it. undecodable: messages whose payload could not be decoded, and so was not compared;
        # stopped_by: nil where all of it was searched, else `:limit`, `:messages`, `:bytes`, `:seconds` or `:stop`.
        Progress = Data.define(:places, :found, :undecodable, :seconds, :stopped_by) do
          def messages = places.sum(&:messages)
          def bytes = places.sum(&:bytes)
          def done? = places.all?(&:done?)

          # @return [Hash{Integer=>Integer}] by partition where the search is continued; without those that were searched to their ends. For
          #   `from:`
          def rest = places.reject(&:done?).to_h { |place| [place.number, place.position] }
        end

        # Where a search ends although there is more to search: so many messages found, or messages, bytes or seconds searched. nil: it
        # does not.
        # @api private
        Bounds = Data.define(:limit, :messages, :bytes, :seconds)

        READ_MS = 200 # so that it can be stopped
        private_constant :READ_MS

        # @return [#call, nil] of a pipeline the stages up to the first that decodes, with Documents instead of Hashes, where the codec has
        #   them: nothing is made of a payload but what the condition asks for. All stages where none decodes
        def self.decoding_part(task)
          return task.respond_to?(:native_decoder) && task.respond_to?(:lazy) ? task.lazy : task unless task.is_a?(Pipeline)

          index = task.stages.index { |stage| stage.is_a?(Pipeline::Decode) } or return task
          before = task.stages.first(index)
          codec = decoding_part(task.stages[index].codec)
          before.empty? ? codec : Pipeline.new([*before, codec])
        end

        # @param topic [Routing::Topic] the route
        # @param settings [Hash{Symbol=>Object}] librdkafka's
        # @param config [Config] how much is read at once
        # @param partitions [Array<Integer>, #call, nil] what is called with how many there are returns them; nil: all
        # @param undecodable [Boolean] whether what cannot be decoded is found, too
        # @param outages [Boolean] whether what an outage keeps from being decoded is found like what cannot be decoded, instead of ending
        #   the search
        # @param decode [Boolean] whether payloads of what is found are decoded although no condition needs it
        # @yieldreturn [Guildhall::Pool] asked for only where there is work for it
        def initialize(topic, settings, config, range:, conditions:, bounds:, partitions: nil, undecodable: false, outages: false,
                       decode: true, &pool)
          @settings = settings
          @config = config
          @range = range
          @conditions = conditions
          @bounds = bounds
          @partitions = partitions
          @undecodable = undecodable
          @outages = outages
          @compared = !conditions.where.nil? || undecodable
          @topic = topic.with(deserializer: self.class.decoding_part(topic.deserializer))
          @decoding = Decoding.new(@compared ? @topic : @topic.with(lazy: :on_access), &pool) if @compared || decode
          @places = {}
          @found = @undecodable_count = 0
          @stopped_by = @began_at = @ended_at = nil
        end

        # Blocks until all is searched, a bound is reached, or {#stop} is called. Once.
        # @yieldparam found [Found] in order within each partition; the block may be left early
        # @return [Progress]
        # @raise [KafkaError] where brokers do not answer
        # @raise [Exception] an outage of what decodes, such as a schema registry that does not answer. {#progress} says how far it came
        def run(&block)
          @began_at = Clock.now
          Session.open(@settings) do |session|
            ranges = ranges(session)
            ranges.each { |(_, number), range| @places[number] = Place.new(number, range.begin, range.end, range.begin, 0, 0) }
            search(session, ranges, &block || :itself.to_proc)
          end
          progress
        ensure
          @ended_at = Clock.now
        end

        # Ends {#run} within moments.
        def stop = @stopped_by ||= :stop

        # @return [Progress] any thread
        def progress
          seconds = @began_at ? (@ended_at || Clock.now) - @began_at : 0.0
          Progress.new(places: @places.values.map(&:dup), found: @found, undecodable: @undecodable_count, seconds:, stopped_by: @stopped_by)
        end

        private

        # Offsets are known from here on: what is written later is not searched, unless there is no end.
        def ranges(session)
          topic = session.topic(@topic.name)
          partitions = @partitions.respond_to?(:call) ? @partitions.call(topic.leaders.size) : @partitions
          @range.resolve(session, topic, partitions, present: true)
        end

        # Of any ranges: newest first would be several of these with one session, of windows, the last ones first. Keeps one batch ahead,
        # so that workers decode it while this thread looks through the one before.
        def search(session, ranges, &)
          silence = @range.endless? ? nil : Session::SILENCE_SECONDS
          limits = {max_messages: @config.max_messages, max_bytes: @config.max_bytes, silence:}
          session.reading(ranges, codec: @decoding&.codec, literal:, **limits) do |reader|
            ahead = []
            until ended? || (ahead.empty? && reader.finished?)
              read_ahead(reader, ahead)
              batch = ahead.shift
              look_through(*batch, &) if batch
            end
            # Between the last message and the end of the range there is nothing.
            ranges.each { |(topic, number), range| @places[number].position = range.end unless ended? || reader.open?([topic, number]) }
          end
        end

        # What the reader, where it decodes JSON, has to find in a payload for the condition to be true: others are decoded without becoming
        # objects.
        def literal
          @conditions.where&.literal if @decoding&.place == :in_reader && @decoding.codec.is_a?(JSON::Lazy)
        end

        def read_ahead(reader, ahead)
          return if ahead.size > 1 || reader.finished?

          reader.read(ahead.empty? ? READ_MS : 0) do |(_, number), records, _, decoded, passed|
            ahead << [@places.fetch(number), records, (@decoding.begin(records, self, decoded) if @compared), passed]
          end
        end

        def look_through(place, records, payloads, passed)
          simple = @conditions.key.nil? && @conditions.headers.empty?
          index = 0
          while index < records.size && !@stopped_by
            record = records[index]
            found = (simple || @conditions.may_fit?(record)) && judge(record, payloads, index)
            place.position = record.offset + 1 # not before: an outage in there says nothing about the message
            place.messages += 1
            place.bytes += record.size
            index += 1
            next unless found

            @found += 1
            @stopped_by ||= :limit if @found == @bounds.limit
            yield found
          end
          pass_over(place, *passed) if passed
        end

        def pass_over(place, messages, bytes, end_offset)
          place.messages += messages
          place.bytes += bytes
          place.position = end_offset if end_offset > place.position && !@stopped_by
        end

        # @return [Found, nil, false]
        def judge(record, payloads, index)
          return Found.new(record, nil, nil) unless @decoding

          value = payloads ? payloads[index] : @decoding.begin([record], self)[0]
          return undecodable(record, value) if Failure === value # asks no Document, whose is_a? is a method

          Found.new(record, value, nil) if @conditions.where.nil? || @conditions.where.true_for?(value)
        end

        def undecodable(record, failure)
          if Partition::ErrorKind.of(failure.exception, @topic) == :outage
            @outages ? reached? : failure.raise! # each message may wait for it
          end
          @undecodable_count += 1
          Found.new(record, nil, failure) if @undecodable || @conditions.where.nil?
        end

        def ended? = !@stopped_by.nil? || reached?

        # After each batch.
        def reached?
          @stopped_by ||=
            if @bounds.messages && @places.each_value.sum(&:messages) >= @bounds.messages then :messages
            elsif @bounds.bytes && @places.each_value.sum(&:bytes) >= @bounds.bytes then :bytes
            elsif @bounds.seconds && Clock.now - @began_at >= @bounds.seconds then :seconds
            end
          !@stopped_by.nil?
        end
      end
    end
  end
end
