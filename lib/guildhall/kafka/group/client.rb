# frozen_string_literal: true

require "forwardable"
require_relative "../broker/native_client"
require_relative "commits"

module Guildhall
  module Kafka
    module Group
      # One consumer of librdkafka: a membership in a consumer group, or the client of a {Broker::Session}, which joins none. Any thread may
      # store and commit offsets, and ask the brokers ({#committed}, {#resolve}, {#topic_names}); only the thread that polls calls the other
      # methods. What fails raises a Rdkafka::BaseError.
      class Client
        extend Forwardable

        # Values of auto.offset.reset.
        RESETS = {earliest: %w[smallest earliest beginning], latest: ["", "largest", "latest", "end"]}.freeze
        OFFSETS = 0...(2**63)
        CLOSE_TIMEOUT_SECONDS = 30
        ANSWER_MS = 5_000
        COORDINATOR_PAUSE_SECONDS = 0.2
        private_constant :RESETS, :OFFSETS, :ANSWER_MS, :COORDINATOR_PAUSE_SECONDS

        # The client's configuration with callbacks of ours. The gem's own rebalance callback gives a partition up first and reports
        # afterwards: then the offsets of work in progress can no longer be stored.
        class Configuration < Broker::NativeClient::Configuration
          ASSIGN = Rdkafka::Bindings::RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS
          NOBODY = Class.new do
            def partitions_assigned(*) = nil
            def partitions_revoked(*, **) = nil
            def statistics_emitted(_json) = nil
            def client_failed(*) = nil
          end.new.freeze
          private_constant :ASSIGN, :NOBODY

          # @param listener [#partitions_assigned, #partitions_revoked, #statistics_emitted] called in the thread that polls: before
          #   messages of a partition come, and before it is given up; `client_failed`, where it has that, with the code and the reason of
          #   what goes wrong between the client and the brokers
          def initialize(settings, listener)
            super(settings)
            @listener = listener
            @closing = @answered = false
            # librdkafka calls these as long as the client lives: they must not be collected.
            @rebalance = FFI::Function.new(:void, %i[pointer int pointer pointer]) { |client, code, list, _| rebalance(client, code, list) }
            @statistics = FFI::Function.new(:int, %i[pointer pointer size_t pointer]) do |_client, json, size, _opaque|
              @listener.statistics_emitted(json.read_bytes(size))
              0 # librdkafka frees the text
            end
            @failed = FFI::Function.new(:void, %i[pointer int string pointer]) do |_client, code, reason, _opaque|
              @listener.client_failed(code, reason)
            end
          end

          # The client leaves. If a partition had just been assigned, librdkafka asks twice then: to take it, and to give it up. The first
          # answer, whatever it says, gives up all. The second one comes when the membership may have ended, and what comes behind that end
          # is dropped (2.16.0, rd_kafka_cgrp_op_serve): who waits for it waits for ever.
          def begin_closing = @closing = true
          def closing? = @closing

          # It hears of nothing any more.
          def forget_listener = @listener = NOBODY

          private

          def native_config(opaque = nil)
            config = super
            Rdkafka::Bindings.rd_kafka_conf_set_rebalance_cb(config, @rebalance)
            Broker::Librdkafka.rd_kafka_conf_set_stats_cb(config, @statistics)
            Broker::Librdkafka.rd_kafka_conf_set_error_cb(config, @failed) if @listener.respond_to?(:client_failed)
            config
          end

          def rebalance(client, code, list)
            assigned = code == ASSIGN
            partitions = Rdkafka::Consumer::TopicPartitionList.from_native_tpl(list).to_h
            pairs = partitions.flat_map { |topic, numbers| numbers.map { |number| [topic, number.partition] } }
            return @listener.partitions_assigned(pairs) if assigned

            @listener.partitions_revoked(pairs, lost: Rdkafka::Bindings.rd_kafka_assignment_lost(client) != 0)
          ensure # also if the listener raises: else the group would wait for this member
            answer(client, list, assigned)
          end

          def answer(client, list, assigned)
            return if @answered

            @answered = @closing
            Broker::Librdkafka.answer_rebalance(client, list, assigned:)
          end
        end
        private_constant :Configuration

        # A consumer's identity in its group, with the group's generation: the coordinator refuses offsets of an earlier generation. Stands
        # for the consumer when the gem sends offsets to a transaction, because the gem would ask the consumer too late.
        class GroupMetadata
          # Of a group without members.
          def self.of(group) = new(Kafka::Broker::Librdkafka.rd_kafka_consumer_group_metadata_new(group), group)

          # @return [String, nil] nil: of a member
          attr_reader :group

          def initialize(pointer, group = nil)
            @pointer = pointer
            @group = group
          end

          # Called by the gem, which destroys it.
          def consumer_group_metadata_pointer = @pointer.tap { @pointer = nil }
          def destroy = @pointer && Rdkafka::Bindings.rd_kafka_consumer_group_metadata_destroy(consumer_group_metadata_pointer)
        end

        # @return [Symbol, nil] :earliest or :latest: where a group begins that has committed nothing that is there; nil: with an error
        def self.reset_place(settings) = RESETS.find { |_, values| values.include?(settings[:"auto.offset.reset"].to_s) }&.first

        def self.validate_seek_target!(target)
          return milliseconds(target) if target.is_a?(Time)
          return if %i[earliest latest].include?(target) || (target.is_a?(Integer) && OFFSETS.cover?(target))

          raise Guildhall::ArgumentError, "seek takes an offset, :earliest, :latest or a Time, not #{target.inspect}"
        end

        # @return [Integer] since 1970, as brokers count; 0 for what was before: to them -1 is the end
        def self.milliseconds(time)
          found = (time.to_r * 1000).floor
          raise Guildhall::ArgumentError, "#{time.inspect} is later than brokers can count" unless found < OFFSETS.end

          found.clamp(0..)
        end

        # Asks a group's coordinator, and again, for some seconds, while it changes or is still reading what it has to know, as for a moment
        # after a broker has come back.
        def self.ask_coordinator(seconds = 5)
          limit = Clock.now + seconds
          begin
            yield
          rescue Rdkafka::RdkafkaError => error
            raise unless Broker::Errors.coordinator_changes?(error.code) && Clock.now < limit

            sleep(COORDINATOR_PAUSE_SECONDS)
            retry
          end
        end

        def initialize(settings, listener)
          @from_the_first = Client.reset_place(settings) == :earliest
          @config = Configuration.new(settings, listener)
          @consumer = @config.consumer
          @native = Broker::NativeClient.of(@consumer)
          @commits = Commits.new(self)
          @subscribed = false
          @asking = Mutex.new
          @tokens = Tokens.keeper(settings)
          @tokens&.add(self)
        end

        # See {Commits}.
        def_delegators :@commits, :commit, :commit_soon, :commit_to, :commit_at, :look_for_answer, :committing?, :commit_overdue?,
          :answered_commits, :renew_metadata, :forget_metadata, :drop

        # @yieldparam handle [FFI::Pointer] usable until the block ends: closing waits for it
        def with_handle(&) = @native.with_inner(&)

        # @param names [Array<String>] topics; none: no subscription
        def subscribe(names)
          @subscribed = names.any?
          @subscribed ? @consumer.subscribe(*names) : @consumer.unsubscribe
        end

        def subscribed? = @subscribed

        # @return [String] as its group's coordinator knows it; empty: it has not joined yet, or leaves. Any thread
        def member_id = ask { @consumer.member_id }.to_s

        # Reads these partitions and no others, whatever others do: without a group.
        def assign(offsets)
          topics = offsets.transform_values { |some| some.map { |number, offset| Rdkafka::Consumer::Partition.new(number, offset) } }
          @consumer.assign(Rdkafka::Consumer::TopicPartitionList.new(topics))
        end

        # Blocks for a broker's answer, for nil where none comes in time. Any thread.
        def topic_names(timeout_ms)
          code, topics = with_handle { |handle| Broker::Librdkafka.metadata(handle, timeout_ms) }
          topics.select { |_, error, leaders| error.zero? || leaders.any? }.map(&:first) if code.zero?
        end

        # Takes effect with the next commit. Does not block. False when the partition is no longer ours.
        def store(topic, partition, offset, metadata = nil)
          Broker::Librdkafka.with_list(topic => [Rdkafka::Consumer::Partition.new(partition, offset, 0, metadata)]) do |native|
            with_handle { |handle| Rdkafka::Bindings.rd_kafka_offsets_store(handle, native).zero? }
          end
        end

        # @return [GroupMetadata, nil] who this is in the group now; who asks has to destroy it. nil: it leaves. Any thread
        def group_metadata = ask { GroupMetadata.new(@consumer.consumer_group_metadata_pointer) }
        def seek(topic, partition, offset) = @consumer.seek_by(topic, partition, offset)

        # Blocks for the broker's answer. A Time means the first message at or after it.
        def resolve(topic, partition, target)
          case target
          when Integer then target
          when :earliest then @consumer.query_watermark_offsets(topic, partition, ANSWER_MS).first
          when :latest then @consumer.query_watermark_offsets(topic, partition, ANSWER_MS).last
          when Time
            found = @consumer.offsets_for_times(list(topic, partition, Client.milliseconds(target)), ANSWER_MS)
            offset_in(found, topic) || resolve(topic, partition, :latest)
          end
        end

        # Offset and metadata that the group has committed, or nil, nil. Blocks for the broker's answer.
        def committed(topic, partition)
          found = Client.ask_coordinator { @consumer.committed(list(topic, partition), ANSWER_MS) }.to_h.fetch(topic).first
          found.offset&.>=(0) ? [found.offset, found.metadata] : [nil, nil]
        end

        # Where a member of the group begins to read that is assigned the partition now. Blocks for the broker's answer.
        def start_of(topic, partition)
          offset, = committed(topic, partition)
          return offset if offset
          return resolve(topic, partition, :earliest) if @from_the_first

          end_offset(topic, partition) || resolve(topic, partition, :latest)
        end

        # Without asking the broker, the offset behind what was read last, message or not; nil: nothing was since the last seek.
        def position(topic, partition) = with_handle { |handle| Broker::Librdkafka.position(handle, topic, partition) }

        # Without asking the broker, from its last answer: the offset of the first message that was not deleted, and the one that the next
        # message will get; nil: librdkafka does not know.
        def begin_offset(topic, partition) = known_offsets(topic, partition).first
        def end_offset(topic, partition) = known_offsets(topic, partition).last

        # Leaves the group; the rebalance callback runs in this thread. Blocks for the brokers' answers. If they do not come in time, that
        # goes on in the background, where nobody hears of it, and does not hold up the end of the process.
        # @return [Boolean] whether all was done in time
        def close(timeout: CLOSE_TIMEOUT_SECONDS)
          limit = Clock.now + timeout
          @commits.close
          @asking.synchronize { @config.begin_closing }
          rest = @native.leave(timeout)
          @tokens&.remove(self)
          handle = Broker::NativeClient.detach(@consumer)
          return Broker::NativeClient.destroy(handle, Clock.left(limit, least: 0.5)) unless rest

          @config.forget_listener
          Broker::NativeClient.finish_leaving(handle, rest, self)
          false
        end

        private

        # What librdkafka's thread answers that ends the membership: behind that end it would answer nothing.
        # @return [Object, nil] nil: that has begun
        def ask = @asking.synchronize { yield unless @config.closing? }

        def known_offsets(topic, partition)
          low = FFI::MemoryPointer.new(:int64)
          high = FFI::MemoryPointer.new(:int64)
          code = with_handle { |handle| Broker::Librdkafka.rd_kafka_get_watermark_offsets(handle, topic, partition, low, high) }
          [low, high].map { |one| one.read_int64.then { |offset| offset if code.zero? && offset >= 0 } }
        end

        def list(topic, partition, offset = nil)
          Rdkafka::Consumer::TopicPartitionList.new(topic => [Rdkafka::Consumer::Partition.new(partition, offset)])
        end

        def offset_in(list, topic)
          offset = list.to_h.fetch(topic).first.offset
          offset if offset && offset >= 0
        end
      end
    end
  end
end
