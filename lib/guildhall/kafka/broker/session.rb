# frozen_string_literal: true

require "guildhall/growing_pauses"
require_relative "../group/client"
require_relative "topic_reader"

module Guildhall
  module Kafka
    module Broker
      # One client that asks the cluster and joins no group: topics, offsets, what a group has committed, records. It asks for no
      # more than is wanted, so that a topic or a broker that has an error affects no answer but its own. Its methods block for the brokers'
      # answers, and raise a {KafkaError} where there is none: {UnreachableError} where no broker answers, {AuthenticationError} where
      # they refuse the credentials. Belongs to one thread; close it.
      # @api private
      class Session
        # One topic as the brokers describe it. error: why it cannot be used, else nil; leaders: by partition the id of the broker that
        # leads it, nil where none does.
        Topic = Data.define(:name, :error, :leaders) do
          def places = leaders.keys.map { |number| [name, number] }
          def missing? = !error.nil? && Errors.kind(error) == :missing
        end

        SETTINGS = {"enable.auto.commit": false, "enable.auto.offset.store": false, "enable.partition.eof": true,
                    "auto.offset.reset": "earliest", "allow.auto.create.topics": false}.freeze
        MEMBERS = %i[group.instance.id group.protocol group.remote.assignor].freeze # settings that mean something only to members
        TIMEOUT_SECONDS = 10
        # For a group's coordinator, where somebody waits for this answer alone: brokers create __consumer_offsets at the first question of
        # all, and read it after they have come back. On a busy machine either takes longer than an answer.
        COORDINATOR_SECONDS = 30
        SETTLE_SECONDS = 2 # for a transaction to end, where somebody only looks: about as long as one takes whose process lives
        UNSETTLED_SECONDS = 10 # after one that did not, before it is waited for again
        LEADER_SECONDS = 5 # for the leader of some partitions: if that broker is down, there is time left to ask the others
        FIRST_WAIT_SECONDS = 1 # each wait for an answer is twice as long, to look in between whether brokers refuse the credentials
        PAUSE_SECONDS = 0.2 # at least, between two questions
        READ_MS = 200 # for one read, so that time limits hold
        SILENCE_SECONDS = 30 # of waiting for a record that is there, while a range is read
        BEGINNING = -2 # special offsets of librdkafka
        LAST = -1
        CLOSE_SECONDS = 5
        MAX_BYTES = 10_000_000 # in memory while a range is read
        UNCOMMITTED = {"isolation.level": "read_uncommitted"}.freeze
        private_constant :SETTINGS, :MEMBERS, :SETTLE_SECONDS, :UNSETTLED_SECONDS, :LEADER_SECONDS, :FIRST_WAIT_SECONDS, :PAUSE_SECONDS,
          :READ_MS, :BEGINNING, :LAST, :CLOSE_SECONDS, :MAX_BYTES, :UNCOMMITTED

        # Errors that the client reports beside its answers, such as refused credentials: the request that they hold up only times out.
        class Complaints
          # @return [Array(Integer, String), nil] librdkafka's code and reason, where a right is missing
          attr_reader :right

          def initialize(settings) = @settings = settings

          def raise_refused
            raise AuthenticationError.at(@settings, *@credentials) if @credentials
          end

          # Called by the client, and by a reader.
          def client_failed(code, reason)
            code = Librdkafka::SSL if reason.to_s.include?("SSL handshake failed") # it may have the code of a lost connection
            found = [code, reason.to_s.sub(/ \(after .*\)\z/m, "")]
            @credentials = found if Errors.kind(code) == :credentials
            @right = found if Errors.kind(code) == :right
          end

          # Reads the errors that wait in the consumer's queue. No partition may be assigned: its messages would be lost.
          def drain(handle)
            until (pointer = Rdkafka::Bindings.rd_kafka_consumer_poll(handle, 0)).null?
              message = Rdkafka::Bindings::Message.new(pointer)
              client_failed(message[:err], Rdkafka::Bindings.rd_kafka_err2str(message[:err]))
              Rdkafka::Bindings.rd_kafka_message_destroy(pointer)
            end
          end

          # Called by the client when it is closed.
          def partitions_assigned(_pairs) = nil
          def partitions_revoked(_pairs, lost:) = nil
          def statistics_emitted(_json) = nil
        end
        private_constant :Complaints

        def self.open(...)
          session = new(...)
          yield session
        ensure
          session&.close
        end

        # @param settings [Hash{Symbol=>Object}] librdkafka's; group.id is the group whose offsets {#committed} and {#commit} mean
        # @param client [Group::Client, nil] one that is there, of a member perhaps: it is only asked, in any thread, and not closed;
        #   nil: one of its own
        # @param timeout [Numeric] seconds that the brokers have for an answer
        # @param coordinator_timeout [Numeric] seconds that the group's coordinator has to come about, and to answer {#committed}
        def initialize(settings, client: nil, timeout: TIMEOUT_SECONDS, coordinator_timeout: timeout)
          @settings = settings
          @timeout = timeout
          @coordinator_timeout = coordinator_timeout
          @complaints = Complaints.new(settings)
          @borrowed = !client.nil?
          @unsettled = nil
          @client = client || Group::Client.new({**settings.except(*MEMBERS), **SETTINGS}, @complaints)
        end

        # All that this user may see.
        # @return [Array<Topic>] by name
        def topics = metadata(nil, "all topics").sort_by(&:name)

        def topic_names = topics.map(&:name)

        # A topic that is not there is not created by this.
        def describe(names) = names.map { |name| metadata(name, "topic #{name}").first }

        # Like {#describe}, for one topic that has to be there.
        def topic(name)
          found = describe([name]).first
          raise UnknownTopicError.new(name, topic_names) if found.missing?
          raise found.error if found.error

          found
        end

        # The offsets that can be read now: with `isolation.level read_committed`, which is the default, up to the first open
        # transaction.
        # @return [Hash{Array(String, Integer)=>Range<Integer>, KafkaError}] by topic and partition
        def ranges(topics)
          leaders = topics.flat_map { |topic| topic.leaders.map { |number, leader| [[topic.name, number], leader] } }
          leaders.group_by(&:last).map { |leader, some| led_ranges(some.map(&:first), leader) }.reduce({}, :merge)
        end

        # Like {#ranges}, by partition, but raises the error of one.
        def ranges_of(topic, numbers = topic.leaders.keys)
          missing = numbers - topic.leaders.keys
          raise KafkaError.of(Librdkafka::UNKNOWN_PARTITION, "#{topic.name}/#{missing.first}") if missing.any?

          ranges([topic.with(leaders: topic.leaders.slice(*numbers))]).to_h do |(_, number), range|
            raise range if range.is_a?(KafkaError)

            [number, range]
          end
        end

        # What comes from now on, for {#reading}.
        # @return [Hash{Array(String, Integer)=>Range}] by topic and partition
        def ranges_to_come(topic)
          ranges_of(topic).to_h { |number, range| [[topic.name, number], range.end...Float::INFINITY] }
        end

        # @return [Integer, nil] the offset of the first message at or after a time; nil: there is none
        def offset_at(topic, partition, time)
          offsets_at([[topic, partition]], time).values.first
        end

        # @return [Hash{Array(String, Integer)=>Integer, nil}] as {#offset_at}, by topic and partition
        def offsets_at(places, time)
          offsets(places, Group::Client.milliseconds(time), @timeout).transform_values { |offset| offset unless offset.negative? }
        end

        # Offsets that the group of this session has committed.
        # @param settled [Boolean] whether to wait for the end of a transaction that offsets were sent to, as who changes something has to:
        #   the coordinator counts as not available until then. false, for who looks: after {SETTLE_SECONDS} the answer is what was
        #   committed before. The transaction of a process that was killed stays open until its timeout is over, or another one begins
        # @return [Hash{Array(String, Integer)=>Array(Integer | nil, String | nil), KafkaError}] offset and metadata; both nil where nothing
        #   was committed
        def committed(places, settled: false)
          return {} if places.empty?
          return ask_committed(places, @coordinator_timeout) if settled || @settings >= UNCOMMITTED
          return unsettled.committed(places) if @unsettled_until && Clock.now < @unsettled_until

          begin
            ask_committed(places, [SETTLE_SECONDS, @coordinator_timeout].min)
          rescue KafkaError => error
            raise unless Errors.kind(error) == :coordinator

            @unsettled_until = Clock.now + UNSETTLED_SECONDS
            unsettled.committed(places)
          end
        end

        # Commits for the group of this session, which has no members.
        def commit(topic, partition, offset, metadata = nil)
          @client.commit_at(topic, partition, offset, metadata, timeout: @timeout)
        rescue Rdkafka::RdkafkaError => error
          group = @settings[:"group.id"]
          raise KafkaError.of(error.rdkafka_response, "offset #{offset} of #{topic}/#{partition} could not be committed for group #{group}",
            commit: group)
        end

        # The records of a range, in order: one bounded search. The block may be left early.
        # @param limit [Integer, nil] how many records at most; nil: all
        # @return [Integer] the offset where the search can be continued; the range's end: nothing is left
        def each_record(topic, partition, range, limit: nil)
          return range.end if range.none?

          settings = {max_messages: [limit || 1_000, 1_000].min, max_bytes: MAX_BYTES, silence: SILENCE_SECONDS}
          seen = 0
          reading({[topic, partition] => range}, **settings) do |reader|
            until reader.finished?
              reader.read(READ_MS) do |_, records|
                records.each do |record|
                  yield record
                  return record.offset + 1 if (seen += 1) == limit
                end
              end
            end
          end
          range.end
        end

        # @yieldparam reader [TopicReader] closed when the block ends
        def reading(ranges, **)
          reader = TopicReader.new(@client, @complaints, **)
          reader.open(ranges)
          yield reader
        ensure
          reader&.close
        end

        # The first record of each range, by topic and partition.
        # @return [Hash{Array(String, Integer)=>Record, nil}] nil where a range has none; without those that could not be read in time
        def first_records(ranges, seconds:)
          found = {}
          limit = Clock.now + seconds
          reading(ranges, max_messages: 1, max_bytes: 1_000) do |reader|
            until reader.finished? || Clock.now > limit
              reader.read(READ_MS) do |place, records|
                found[place] ||= records.first
                reader.finish(place)
              end
            end
            ranges.keys.to_h { |place| [place, found[place]] }.select { |place, record| record || !reader.open?(place) }
          end
        end

        def close
          @unsettled&.close
          @client.close(timeout: CLOSE_SECONDS) unless @borrowed
        end

        private

        # That a client does not wait for transactions is a setting of the client.
        # @return [Session]
        def unsettled
          @unsettled ||= Session.new({**@settings, **UNCOMMITTED}, timeout: @timeout, coordinator_timeout: @coordinator_timeout)
        end

        def ask_committed(places, seconds)
          what = "the committed offsets of group #{@settings[:"group.id"]}"
          answers = ask_of(places, what, seconds, group: true) do |handle, list, wait_ms|
            Rdkafka::Bindings.rd_kafka_committed(handle, list, wait_ms)
          end
          answers.transform_values do |one|
            next KafkaError.of(one.err, what) unless one.err.zero?

            one.offset&.>=(0) ? [one.offset, one.metadata] : [nil, nil]
          end
        rescue AuthenticationError
          raise
        rescue UnreachableError
          raise KafkaError.of(Librdkafka::WAIT_COORD, what)
        end

        # @param group [Boolean] whether a right on the group is needed
        # @yieldreturn [Array(Integer, Object)] librdkafka's code, and the answer
        def ask(what, seconds = @timeout, group: false)
          limit = Clock.now + seconds
          waits = GrowingPauses.new(FIRST_WAIT_SECONDS, seconds)
          wait = nil
          loop do
            again_at = Clock.now + PAUSE_SECONDS
            wait = waits.after(wait)
            code, answer = @client.with_handle { |handle| yield handle, ([wait, Clock.left(limit)].min * 1000).ceil }
            return answer if code.zero?

            @client.with_handle { |handle| @complaints.drain(handle) } unless @borrowed
            complain(code, what, last: Clock.now >= limit, group:)
            sleep([again_at, limit].min - Clock.now) if [again_at, limit].min > Clock.now
          end
        end

        def complain(code, what, last:, group:)
          @complaints.raise_refused
          raise KafkaError.of(@complaints.right.first, what) if group && @complaints.right && Errors.outage?(code)
          return if !last && %i[unanswered coordinator].include?(Errors.kind(code))

          raise Errors.unanswered?(code) ? UnreachableError.at(@settings, code, "it was asked for #{what}") : KafkaError.of(code, what)
        end

        def metadata(name, what)
          ask(what) { |handle, wait_ms| Librdkafka.metadata(handle, wait_ms, name) }.map do |topic, code, leaders|
            Topic.new(name: topic, error: code.zero? ? nil : KafkaError.of(code, "topic #{topic}"), leaders:)
          end
        end

        def led_ranges(places, leader)
          unless leader
            return places.to_h { |place| [place, KafkaError.of(Librdkafka::LEADER_NOT_AVAILABLE, "#{place.join("/")} has no leader")] }
          end

          first, last = [BEGINNING, LAST].map { |offset| offsets(places, offset, [LEADER_SECONDS, @timeout].min) }
          places.to_h { |place| [place, first[place]...last[place]] }
        rescue AuthenticationError
          raise
        rescue UnreachableError => error
          places.to_h { |place| [place, KafkaError.of(error.code, "broker #{leader}, the leader of #{place.join("/")}, does not answer")] }
        rescue KafkaError => error
          divided(places, leader, error)
        end

        # librdkafka has one error for all partitions, although only one may have caused it: ask in parts.
        def divided(places, leader, error)
          return {places.first => error} if places.one?

          topics = places.group_by(&:first).values
          (topics.one? ? places.map { |place| [place] } : topics).map { |some| led_ranges(some, leader) }.reduce(:merge)
        end

        # @param offset [Integer] {BEGINNING}, {LAST} or a time in milliseconds
        # @return [Hash{Array(String, Integer)=>Integer}] negative: there is none
        def offsets(places, offset, seconds)
          names = places.map { |place| place.join("/") }
          what = "the offsets of #{names.first(3).join(", ")}#{" …" if names.size > 3}"
          answers = ask_of(places, what, seconds, offset:) do |handle, list, wait_ms|
            Rdkafka::Bindings.rd_kafka_offsets_for_times(handle, list, wait_ms)
          end
          answers.transform_values { |one| one.offset || LAST }
        end

        # @return [Hash{Array(String, Integer)=>Rdkafka::Consumer::Partition}] the list, as librdkafka has filled it
        def ask_of(places, what, seconds = @timeout, offset: nil, group: false)
          topics = places.group_by(&:first)
          topics.transform_values! { |same| same.map { |_, number| Rdkafka::Consumer::Partition.new(number, offset) } }
          ask(what, seconds, group:) do |handle, wait_ms|
            Librdkafka.with_list(topics) do |list|
              [yield(handle, list, wait_ms), Rdkafka::Consumer::TopicPartitionList.from_native_tpl(list).to_h]
            end
          end.flat_map { |topic, some| some.map { |one| [[topic, one.partition], one] } }.to_h
        end
      end
    end
  end
end
