# frozen_string_literal: true

require_relative "client_config"
require_relative "client_closer"
require_relative "commits"
require_relative "coordinator_retry"
require_relative "counted_calls"
require_relative "group_metadata"

module Guildhall
  module Kafka
    module Connection
      # One membership in a consumer group: wraps the consumer of librdkafka. Any thread may store and commit offsets; only
      # the listener's thread calls the other methods.
      class Client
        # Values of auto.offset.reset.
        RESETS = {earliest: %w[smallest earliest beginning], latest: ["", "largest", "latest", "end"]}.freeze
        OFFSETS = 0...(2**63)
        COMMIT_TIMEOUT_SECONDS = 60
        CLOSE_TIMEOUT_SECONDS = 30

        # @param settings [Hash{Symbol=>Object}] librdkafka's
        def initialize(settings, listener)
          @from_the_first = Client.reset_place(settings) == :earliest
          @config = ClientConfig.new(settings, listener)
          @consumer = @config.consumer
          @native = CountedCalls.of(@consumer)
          @commits = Commits.new(self)
        end

        # @param settings [Hash{Symbol=>Object}] librdkafka's
        # @return [Symbol, nil] :earliest or :latest: where a group begins that has committed nothing that is there; nil: with an error
        def self.reset_place(settings)
          RESETS.each_key.find { |place| RESETS.fetch(place).include?(settings[:"auto.offset.reset"].to_s) }
        end

        # @yieldparam handle [FFI::Pointer] usable until the block ends: closing waits for it
        # @return [Object] what the block returns
        def with_handle(&)
          @native.with_inner(&)
        end

        # @param names [Array<String>] topics; none: no subscription
        def subscribe(names)
          names.any? ? @consumer.subscribe(*names) : @consumer.unsubscribe
        end

        # Reads these partitions and no others, whatever others do: without a group.
        # @param offsets [Hash{String=>Hash{Integer=>Integer}}] where to begin, by topic and partition
        # @raise [Rdkafka::RdkafkaError]
        def assign(offsets)
          topics = offsets.transform_values { |some| some.map { |number, offset| Rdkafka::Consumer::Partition.new(number, offset) } }
          @consumer.assign(Rdkafka::Consumer::TopicPartitionList.new(topics))
        end

        # Blocks for a broker's answer. Any thread.
        # @return [Array<String>, nil] the topics that there are; nil: no broker has answered in time
        def topic_names(timeout_ms)
          code, topics = with_handle { |handle| Librdkafka.metadata(handle, timeout_ms) }
          topics.select { |_, error, leaders| error.zero? || leaders.any? }.map(&:first) if code.zero?
        end

        # Takes effect with the next commit. Does not block.
        # @param offset [Integer] the next one to consume
        # @return [Boolean] false when the partition is no longer ours
        def store(topic, partition, offset, metadata = nil)
          list = Rdkafka::Consumer::TopicPartitionList.new(
            topic => [Rdkafka::Consumer::Partition.new(partition, offset, 0, metadata)]
          )
          native = list.to_native_tpl
          @native.with_inner { |handle| Rdkafka::Bindings.rd_kafka_offsets_store(handle, native).zero? }
        ensure
          Rdkafka::Bindings.rd_kafka_topic_partition_list_destroy(native) if native
        end

        # Commits metadata with the next commit but one at the latest, although the offset may be committed already. Does not block.
        # @param offset [Integer] that was stored
        def renew_metadata(topic, partition, offset, metadata) = @commits.renew_metadata(topic, partition, offset, metadata)

        def forget_metadata(topic, partition) = @commits.forget_metadata(topic, partition)

        # Commits what was stored. Blocks for the broker's answer.
        # @param timeout [Numeric] seconds; librdkafka itself would wait for a broker for ever
        # @return [Boolean] false when the group has moved on meanwhile
        # @raise [Rdkafka::RdkafkaError] when it failed otherwise, or no broker has answered in time
        def commit(timeout: COMMIT_TIMEOUT_SECONDS)
          code = @commits.complete(timeout)
          error = failure(code)
          raise error if error

          code.zero? || Broker::Errors.nothing?(code)
        end

        # Commits what was stored, in the background. Does not block.
        # @return [Rdkafka::RdkafkaError, nil] what has become of the commit before, if it was no good
        def commit_soon
          failure(@commits.start)
        end

        # Looks for the broker's answer to a commit in the background. Does not block.
        # @return [Rdkafka::RdkafkaError, nil] as {#commit_soon}
        def look_for_answer
          failure(@commits.look)
        end

        # @return [Boolean] whether a commit is under way
        def committing? = @commits.pending?

        # Each is given out once.
        # @return [Array<Array(String | nil, Float)>] librdkafka's name of the error of each commit that was answered, nil where it was
        #   none, and how many seconds it took
        def answered_commits
          @commits.answers.map { |code, seconds| [failure(code)&.code&.to_s, seconds] }
        end

        # @return [Boolean] whether a commit has not been answered for so long
        def commit_overdue?(seconds)
          @commits.overdue?(seconds)
        end

        # Commits this offset, which may be lower than what was committed before. Does not block for the broker's answer.
        def commit_to(topic, partition, offset, metadata = nil)
          @commits.force_offset(topic, partition, offset, metadata)
          commit_soon
        end

        # Commits this offset, whatever was stored or committed before. Blocks for the broker's answer.
        # @param timeout [Numeric] seconds
        # @raise [Rdkafka::RdkafkaError]
        def commit_at(topic, partition, offset, timeout:)
          @commits.force_offset(topic, partition, offset, nil)
          code = @commits.complete(timeout)
          error = Rdkafka::RdkafkaError.new(code)
          raise error unless code.zero? || Broker::Errors.nothing?(code)
        end

        # Any thread.
        # @return [GroupMetadata] who this is in the group now; the owner is who asks
        # @raise [Rdkafka::BaseError] when it is closed
        def group_metadata = GroupMetadata.new(@consumer.consumer_group_metadata_pointer)

        # @param offset [Integer] the message that is read next
        # @raise [Rdkafka::RdkafkaError]
        def seek(topic, partition, offset)
          @consumer.seek_by(topic, partition, offset)
        end

        # @raise [Guildhall::ArgumentError] unless it says where to seek to
        def self.validate_seek_target!(target)
          return if %i[earliest latest].include?(target) || target.is_a?(Time) || (target.is_a?(Integer) && OFFSETS.cover?(target))

          raise Guildhall::ArgumentError, "seek takes an offset, :earliest, :latest or a Time, not #{target.inspect}"
        end

        # Blocks for the broker's answer.
        # @param target [Integer, Symbol, Time] an offset, :earliest, :latest, or the first message at or after a time
        def resolve(topic, partition, target)
          case target
          when Integer then target
          when :earliest then @consumer.query_watermark_offsets(topic, partition, 5_000).first
          when :latest then @consumer.query_watermark_offsets(topic, partition, 5_000).last
          when Time then offset_at(topic, partition, target)
          end
        end

        # Blocks for the broker's answer.
        # @return [Array(Integer, String), Array(nil, nil)] offset and metadata that the group has committed
        def committed(topic, partition)
          found = CoordinatorRetry.run(5) { @consumer.committed(list(topic, partition), 5_000) }.to_h.fetch(topic).first
          found.offset && found.offset >= 0 ? [found.offset, found.metadata] : [nil, nil]
        end

        # Blocks for the broker's answer.
        # @return [Integer] where a member of the group begins to read that is assigned the partition now
        def start_of(topic, partition)
          offset, = committed(topic, partition)
          return offset if offset
          return resolve(topic, partition, :earliest) if @from_the_first

          end_offset(topic, partition) || resolve(topic, partition, :latest)
        end

        # What librdkafka knows without asking the broker.
        # @return [Integer, nil] the offset behind what was read last, message or not; nil: nothing was since the last seek
        def position(topic, partition)
          offset = @consumer.position(list(topic, partition)).to_h.fetch(topic).first.offset
          offset if offset && offset >= 0
        end

        # What librdkafka knows without asking the broker.
        # @return [Integer, nil] the offset that the partition's next message will get
        def end_offset(topic, partition) = known_offsets(topic, partition).last

        # What librdkafka knows without asking the broker, from its last answer.
        # @return [Integer, nil] the offset of the first message that was not deleted
        def begin_offset(topic, partition) = known_offsets(topic, partition).first

        # Leaves the group; the rebalance callback runs in this thread. Blocks for the brokers' answers. Where they do not
        # come in time, librdkafka's handle is left to itself: to destroy it would wait for them, and so would the end of the
        # process.
        # @param timeout [Numeric] seconds
        # @return [Boolean] whether all was done in time
        def close(timeout: CLOSE_TIMEOUT_SECONDS)
          limit = Clock.now + timeout
          @commits.close
          left = with_handle { |handle| ClientCloser.leave(handle, timeout) }
          handle = detach
          left && ClientCloser.destroy(handle, Clock.left(limit, least: 0.5))
        end

        private

        def failure(code)
          return if code.zero?

          Rdkafka::RdkafkaError.new(code) unless Broker::Errors.commit_settled?(code)
        end

        def known_offsets(topic, partition)
          low = FFI::MemoryPointer.new(:int64)
          high = FFI::MemoryPointer.new(:int64)
          code = with_handle { |handle| Librdkafka.rd_kafka_get_watermark_offsets(handle, topic, partition, low, high) }
          [low, high].map { |one| one.read_int64.then { |offset| offset if code.zero? && offset >= 0 } }
        end

        def list(topic, partition)
          Rdkafka::Consumer::TopicPartitionList.new(topic => [Rdkafka::Consumer::Partition.new(partition, nil)])
        end

        # The gem would destroy the handle with the GVL: the whole process would be blocked meanwhile.
        # @return [FFI::Pointer] the handle, which the gem does not know any more
        def detach
          ObjectSpace.undefine_finalizer(@consumer)
          @native.synchronize do |handle|
            @native.instance_variable_set(:@inner, nil)
            handle
          end
        end

        def offset_at(topic, partition, time)
          list = Rdkafka::Consumer::TopicPartitionList.new(topic => [Rdkafka::Consumer::Partition.new(partition, (time.to_f * 1000).to_i)])
          offset = @consumer.offsets_for_times(list, 5_000).to_h.fetch(topic).first.offset
          offset.nil? || offset.negative? ? resolve(topic, partition, :latest) : offset
        end
      end
    end
  end
end
