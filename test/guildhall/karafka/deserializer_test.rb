# frozen_string_literal: true

require "test_helper"
require "guildhall/msgpack"
require "timeout"
require "karafka"
require "guildhall/karafka"
require_relative "../../support/karafka_buses"
require_relative "../../support/karafka_messages"

module Guildhall
  module Karafka
    class DeserializerTest < GuildhallTest
      include KarafkaMessages

      # Says where it ran.
      module Where
        def self.call(payload) = {text: payload, main: Ractor.main?}
      end

      module WithMetadata
        def self.call(payload, metadata) = [payload, metadata.topic, metadata.partition, metadata.offset, metadata.key, metadata.headers, Ractor.main?]
      end

      # As applications of Karafka have them.
      class Own
        def call(message)
          [message.raw_payload&.upcase, message.headers["kind"], message.key, message.metadata.topic, message.offset, message.tombstone?]
        end
      end

      module Failing
        def self.call(payload) = payload == "bad" ? raise(KeyError, "no such key") : payload
      end

      module Worker
        def self.call(payload) = Ractor.main? ? "in place" : raise(NoMemoryError, payload)
      end

      module Unshareable
        def self.call(payload) = {text: payload.dup, lock: Mutex.new}
      end

      module Deadly
        def self.call(payload) = Ractor.main? ? payload : Thread.exit
      end

      EVEN = Guildhall::JSON.lazy >> Guildhall.select { |doc| doc["id"].even? } >> Guildhall.map { |doc| doc["id"] }
      TOUCHING = ->(payload) { MUTABLE.first + payload }
      GO = Guildhall::Queue.new(2)

      module Endless
        def self.call(payload)
          GO.pop if payload == "8" && !Ractor.main?
          payload
        end
      end

      module LateRefusal
        def self.call(payload) = Object.const_get("Guildhall::Karafka::DeserializerTest::MUTA" + "BLE").fetch(0) + payload
      end

      # What it returns has parts that are the application's own.
      module Borrowing
        def self.call(payload)
          settings = Thread.main.thread_variable_get(:settings)
          settings[:calls] += 1
          {settings:, lock: (Mutex.new if payload == "lock")}
        end
      end

      # What never returns is interrupted by a consumer that limits the time.
      module Waiting
        def self.call(payload) = payload == "bad" ? sleep : payload
      end

      module Encoding
        def self.call(payload) = payload.encoding.name
      end

      class Orders
        def call(message) = LateRefusal.call(message.raw_payload)
      end
      MUTABLE = [+"x"] # rubocop:disable Style/MutableConstant -- what workers may not touch

      def setup
        super
        @pool = Pool.new(workers: 1, limits: Pool::Limits.new(exit_timeout: 5))
        use(@pool)
      end

      def teardown
        Karafka.setup
        @pool.shutdown(timeout: 5)
        super
      end

      def test_workers_decode
        batch = fetched(Array.new(50, &:to_s), Where)
        assert_equal Array.new(50) { |index| {text: index.to_s, main: false} }, batch.map(&:payload)
        assert batch.all?(&:deserialized?)
      end

      def test_small_batches_are_decoded_in_place
        assert_equal [true], fetched(%w[a b c], Where).map { |message| message.payload[:main] }.uniq
      end

      def test_documents_are_left_to_the_consumer_unless_workers_are_asked_for
        {nil => 0, false => 0, true => 20}.each do |parallel, count|
          use(@pool, parallel:)
          assert_equal count, dispatched { fetched(['{"a":1}'] * 20, Guildhall::JSON.lazy).each { |message| assert_equal({"a" => 1}, message.payload) } }
        end
      end

      def test_stages_in_ruby_go_to_workers
        use(@pool, parallel: nil)
        assert_equal 20, dispatched { fetched(['{"id":2}'] * 20, EVEN).each(&:payload) }
        assert_equal 20, dispatched { fetched(%w[a] * 20, Own.new.freeze, message: true).each(&:payload) }
        use(@pool, parallel: false)
        assert_equal 0, dispatched { assert_equal [2] * 20, fetched(['{"id":2}'] * 20, EVEN).map(&:payload) }
      end

      def test_hashes_are_left_to_the_consumer_unless_workers_are_asked_for
        big = [%({"text":"#{"x" * 1000}"})] * 100
        {nil => 0, true => 100, false => 0}.each do |parallel, count|
          use(@pool, parallel:)
          [[Guildhall::JSON, big], [Guildhall::MessagePack, big.map { |text| Guildhall::MessagePack.encode(Guildhall::JSON.decode(text)) }]].each do |codec, payloads|
            deserializer = Karafka.parallel(codec)
            assert_equal count, dispatched { fetched(payloads, deserializer).each { |message| assert_equal 1000, message.payload["text"].size } }
          end
        end
      end

      def test_messages_that_were_not_fetched
        message = build(%w[a], Karafka.parallel(Where)).first
        assert_equal({text: "a", main: true}, message.payload)
      end

      def test_payloads_are_frozen_wherever_they_were_decoded
        [fetched(%w[a], Where), fetched(%w[a] * 20, Where)].each { |batch| assert Ractor.shareable?(batch.first.payload) }
      end

      def test_raw_payloads_stay_what_they_were
        batch = fetched(Array.new(20) { |index| "payload #{index}" * 100 }, Where)
        before = batch.map(&:raw_payload)
        batch.each(&:payload)
        batch.zip(before) { |message, raw| assert_same raw, message.raw_payload }
        refute(before.any?(&:frozen?))
      end

      def test_raw_payloads_that_are_returned_are_not_frozen
        message = fetched(%w[a], Where).first
        assert_predicate message.payload[:text], :frozen?
        refute_predicate message.raw_payload, :frozen?
      end

      def test_replaced_payloads_are_decoded_in_place
        batch = fetched(Array.new(20, "a" * 200), Where)
        batch[3].raw_payload = "b"
        assert_equal({text: "b", main: true}, batch[3].payload)
        assert_equal 19, batch.count { |message| !message.payload[:main] }
      end

      def test_payloads_that_were_changed_are_decoded_in_place
        batch = fetched(Array.new(20, "a" * 200), Where)
        batch[3].raw_payload << "!"
        assert_equal({text: "#{"a" * 200}!", main: true}, batch[3].payload)
        refute batch[4].payload[:main]
      end

      def test_tombstones
        batch = fetched([nil, *Array.new(20, "1"), nil], Guildhall::JSON)
        assert_equal [nil, *Array.new(20, 1), nil], batch.map(&:payload)
      end

      class Upcase
        def call(payload) = payload.upcase
      end

      class ToolWithMetadata
        def call(payload, metadata) = [payload&.upcase, metadata.offset]
      end

      def test_tombstones_of_tools
        batch = fetched([nil, *Array.new(20, "a"), nil], Guildhall::Task.per_worker(Upcase))
        assert_equal [nil, *Array.new(20, "A"), nil], batch.map(&:payload)
        batch = fetched([nil, *Array.new(20, "a")], Guildhall::Task.per_worker(ToolWithMetadata))
        assert_equal [[nil, 0], ["A", 1]], batch.first(2).map(&:payload)
      end

      def test_errors_belong_to_their_message
        batch = fetched(["good"] * 15 + ["bad"] + ["good"] * 4, Failing)
        2.times do
          error = assert_raises(KeyError) { batch[15].payload }
          assert_equal "no such key", error.message
          refute_predicate batch[15], :deserialized?
        end
        assert_equal 19, batch.count { |message| message.raw_payload == "good" && message.payload == "good" }
      end

      def test_errors_of_codecs
        batch = fetched(['{"a":1}'] * 20 + ["{"], Guildhall::JSON)
        assert_equal({"a" => 1}, batch.first.payload)
        assert_raises(Guildhall::JSON::ParseError) { batch.last.payload }
      end

      def test_metadata
        batch = fetched(%w[a] * 20, WithMetadata)
        assert_equal ["a", "topic", 3, 7, "key", {"kind" => "test"}, false], batch[7].payload
        assert_equal ["a", "topic", 3, 0, "key", {"kind" => "test"}, true], fetched(%w[a], WithMetadata).first.payload
        refute_predicate batch.first.metadata.raw_key, :frozen?
        refute(batch.first.metadata.raw_headers.frozen? || batch.first.metadata.raw_headers.values.any?(&:frozen?))
        refute([batch.first, fetched(%w[a], WithMetadata).first.tap(&:payload)].any? { |one| one.timestamp.frozen? || one.received_at.frozen? })
      end

      def test_deserializers_that_take_messages
        expected = ["A", "test", "key", "topic", 7, false]
        assert_equal expected, fetched(%w[a] * 20, Own.new.freeze, message: true)[7].payload
        assert_equal expected, build(%w[a] * 20, Karafka.parallel(Own.new.freeze, message: true))[7].payload
        assert_equal [nil, "test", "key", "topic", 0, true], fetched([nil] * 20, Own.new.freeze, message: true).first.payload
      end

      def test_pipelines
        batch = fetched(Array.new(20) { |id| %({"id":#{id}}) }, EVEN)
        assert_equal 0.step(18, 2).to_a, batch.map(&:payload) - [DROPPED]
        assert_same DROPPED, batch[1].payload
      end

      def test_what_workers_cannot_do_is_done_in_place
        assert_equal ["in place"], fetched(%w[a] * 20, Worker).map(&:payload).uniq
      end

      def test_workers_that_die
        assert_equal Array.new(12, &:to_s), fetched(Array.new(12, &:to_s), Deadly).map(&:payload)
      end

      def test_results_that_cannot_be_shared
        payload = fetched(%w[a] * 20, Unshareable)[5].payload
        assert_equal "a", payload[:text]
        refute_predicate payload[:text], :frozen?
      end

      def test_a_payload_that_never_ends
        use(@pool, deadline: 0.2)
        assert_equal Array.new(12, &:to_s), fetched(Array.new(12, &:to_s), Endless).map(&:payload)
        assert_equal 1, @pool.stats[:abandoned]
      ensure
        GO << nil # an abandoned worker ends with its payload only
      end

      def test_a_saturated_pool
        %i[defer reject].each do |overflow|
          Pool.open(workers: 1, capacity: 5, overflow:) do |pool|
            use(pool)
            assert_equal %w[a] * 20, fetched(%w[a] * 20, Failing).map(&:payload), overflow
          end
        end
      end

      def test_a_pool_that_was_shut_down
        pool = Pool.new(workers: 1).tap(&:shutdown)
        use(pool)
        assert_equal %w[a] * 20, fetched(%w[a] * 20, Failing).map(&:payload)
        assert_equal [PoolClosedError], @errors.map(&:class)
      end

      def test_what_is_refused_later_is_decoded_in_place_and_reported_once
        deserializer = Karafka.parallel(LateRefusal)
        3.times { assert_equal %w[xa] * 20, fetched(%w[a] * 20, deserializer).map(&:payload) }
        assert_operator @errors.size, :<=, 1
      end

      def test_what_is_not_shareable_is_refused_at_boot
        error = assert_raises(NotShareableError) { Karafka.parallel(Own.new, message: true) }
        assert_match(/deserializer is not shareable: .*Own that is not frozen; freeze it/, error.message)
      end

      def test_what_touches_the_main_ractor_is_refused_at_boot
        error = assert_raises(IsolationError) { Karafka.parallel(TOUCHING) }
        assert_match(/MUTABLE .* is an Array that is not shareable; make it so/, error.message)
      end

      def test_what_is_parallel_already_is_refused_at_boot
        parallel = Karafka.parallel(Where)
        [{}, {message: true}].each do |options|
          error = assert_raises(Guildhall::ArgumentError) { Karafka.parallel(parallel, **options) }
          assert_match(/\A#<Guildhall::Karafka\.parallel .*Where> is parallel already; use it as it is\z/, error.message)
        end
      end

      def test_what_cannot_be_called_is_refused_at_boot
        assert_raises(Guildhall::ArgumentError) { Karafka.parallel("JSON") }
        assert_raises(Guildhall::ArgumentError) { Karafka.parallel("JSON", message: true) }
      end

      def test_per_worker_tools
        assert_equal ["1a"] * 20, fetched(%w[a] * 20, Task.per_worker(Tool, "1")).map(&:payload)
        assert_equal ["1a"], fetched(%w[a], Task.per_worker(Tool, "1")).map(&:payload)
      end

      class Tool
        def initialize(prefix) = @prefix = prefix
        def call(payload) = @prefix + payload
      end

      module Raising
        def self.call(_payload) = raise("no")
      end

      Made = Struct.new(:text)
      MAKING = ->(payload) { Made.new(payload) }

      # Once there are Ractors, only what is shareable can be counted.
      def test_results_go_with_their_messages
        deserializer = Karafka.parallel(MAKING)
        read = -> { fetched(%w[x] * 100, deserializer).each(&:payload).size }
        made = lambda do
          GC.start
          ObjectSpace.each_object(Made).count
        end
        20.times do
          Thread.new { 3.times { read.call } }.join # its stack shows nothing any more
          assert_operator made.call, :<=, 300
        end
        eventually { made.call < 100 } # the last batch too is dropped, once the worker has let go of it
      end

      def test_other_topics_of_a_fetch_go_on_where_one_is_refused
        late, where = [LateRefusal, Where].map { |task| Karafka.parallel(task) }
        5.times do
          batches = [build(%w[a] * 20, late), build(%w[b] * 20, where)]
          publish(*batches)
          batches.first.each(&:payload)
          assert_equal [false], batches.last.map { |message| message.payload[:main] }.uniq
        end
      end

      def test_what_goes_wrong_with_all_batches_of_a_fetch_is_reported_once
        use(Pool.new(workers: 1).tap(&:shutdown))
        publish(*Array.new(5) { build(%w[a] * 20, Karafka.parallel(Where)) })
        assert_equal [PoolClosedError], @errors.map(&:class)
      end

      def test_a_pool_of_its_own_has_the_settings_of_now
        plugin = Karafka.instance_variable_get(:@plugin)
        use(nil, concurrency: 1)
        first = plugin.pool
        closing = Class.new(SimpleDelegator) { define_method(:shutdown) { |**options| plugin.pool && super(**options) } }
        plugin.instance_variable_set(:@pool, closing.new(first))
        use(nil, concurrency: 2)
        assert_equal 2, plugin.pool.warm_up(Where).stats[:workers]
      ensure
        use(@pool)
      end

      def test_the_batch_before_is_cancelled
        pool = Pool.new(workers: 0)
        use(pool)
        deserializer = Karafka.parallel(Where)
        first = fetched(%w[a] * 20, deserializer)
        fetched(%w[b] * 20, deserializer)
        assert_equal [{text: "a", main: true}], first.map(&:payload).uniq
      end

      def test_disabled_means_the_task_alone
        use(nil, enabled: false)
        payload = fetched(%w[a] * 20, Unshareable).first.payload
        refute_predicate payload, :frozen?
      end

      def test_stats
        before = Karafka.stats
        batch = fetched(%w[a] * 20, Where)
        batch[3].raw_payload = "b"
        batch.each(&:payload) # before the partition's next batch cancels what no worker has begun
        fetched(%w[a], Where).each(&:payload)
        assert_equal({dispatched: 20, taken: 19, in_place: 2, replaced: 1}, Karafka.stats.to_h { |name, count| [name, count - before[name]] })
      end

      def test_a_payload_that_never_returns_holds_up_nobody_else
        batch = deferred(["good"] * 12 + ["bad"] + ["good"] * 7, Waiting)
        read = batch.map do |message|
          Timeout.timeout(message.raw_payload == "bad" ? 0.05 : 20) { message.payload }
        rescue Timeout::Error
          "late"
        end
        assert_equal ["good"] * 12 + ["late"] + ["good"] * 7, read
      end

      def test_a_monitor_that_came_after_the_deserializer
        deserializer = Karafka.parallel(Where)
        with_monitor(::Karafka::Instrumentation::Monitor.new) do
          assert fetched(%w[a] * 20, deserializer).all? { |message| message.payload[:main] }, "nobody heard of it"
          refute fetched(%w[a] * 20, deserializer).any? { |message| message.payload[:main] }
        end
      end

      def test_a_monitor_that_came_later_and_passes_nothing_on
        deserializer = Karafka.parallel(Where)
        with_monitor(::Karafka::Instrumentation::Monitor.new(KarafkaBuses::Silent)) do
          _, err = capture_io { 3.times { build(%w[a], deserializer).each(&:payload) } }
          assert_equal 1, err.scan("Silent, does not pass events on").size
        end
      end

      def test_objects_of_the_application_are_not_frozen
        with_settings do |settings|
          payload = build(%w[a], Karafka.parallel(Borrowing)).first.payload
          assert Ractor.shareable?(payload)
          assert_equal settings, payload[:settings]
          refute_predicate settings, :frozen?
        end
      end

      class BorrowingCodec
        include Codec

        def initialize = freeze
        def decode(_bytes) = Thread.main.thread_variable_get(:settings)
      end

      def test_objects_that_a_codec_returns_are_not_frozen
        with_settings do |settings|
          assert_equal settings, build(%w[a], Karafka.parallel(BorrowingCodec.new)).first.payload
          refute_predicate settings, :frozen?
        end
      end

      BORROWED = {"EUR" => +"Euro"} # rubocop:disable Style/MutableConstant -- that is the point

      # No worker can run it for "special", although workers have run it.
      module Sometimes
        def self.call(payload) = payload == "special" ? DeserializerTest.const_get("BORROW" + "ED") : payload.upcase
      end

      def test_what_only_the_main_ractor_has_is_not_frozen_where_workers_have_run_the_task
        deserializer = Karafka.parallel(Sometimes)
        assert_equal "A", fetched(%w[a] * 20, deserializer).map(&:payload).last
        assert_equal BORROWED, fetched(%w[a special] * 10, deserializer).map(&:payload)[1]
        refute(BORROWED.frozen? || BORROWED["EUR"].frozen?)
      end

      def test_results_that_cannot_be_shared_are_decoded_once_and_left_as_they_are
        with_settings do |settings|
          payload = build(%w[lock], Karafka.parallel(Borrowing)).first.payload
          assert_equal [1, false, false], [settings[:calls], payload.frozen?, settings.frozen?]
          assert_same settings, payload[:settings]
        end
      end

      def test_another_encoding_is_another_payload
        batch = fetched(%w[abc] * 20, Encoding)
        batch[3].raw_payload.force_encoding("BINARY")
        assert_equal ["UTF-8", ::Encoding::BINARY.name], batch.values_at(2, 3).map(&:payload)
      end

      METADATA = ->(_payload, metadata) { metadata }
      CALLABLE = [->(*all) { all }, ->(a, b = nil) { [a, b] }, ->(a, b, c = nil) { [a, b, c] }].freeze

      def test_metadata_are_the_same_when_it_is_disabled
        use(nil, enabled: false)
        message = build(%w[a], Karafka.parallel(METADATA, message: false)).first
        assert_instance_of Envelope, message.payload
        refute_predicate message.raw_payload, :frozen?
      end

      def test_what_workers_refuse_is_reported_by_its_own_name
        deserializer = Karafka.parallel(Orders.new.freeze, message: true)
        limit = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 20
        fetched(%w[a] * 20, deserializer).each(&:payload) until @errors&.any? || Process.clock_gettime(Process::CLOCK_MONOTONIC) > limit
        assert_match(/\A#<.*Orders.*> cannot run on workers; its payloads are decoded in the consumer's thread from now on: .*MUTABLE/,
          @errors.fetch(0).message)
        refute_includes @errors.fetch(0).message, "nowhere"
        assert_match(/\A#<Guildhall::Karafka\.parallel #<.*Orders/, deserializer.inspect)
      end

      def test_what_seems_to_take_a_message_is_refused_at_boot_where_it_would_get_a_payload
        error = assert_raises(Guildhall::ArgumentError) { Karafka.parallel(Own.new.freeze) }
        assert_match(/Own.* seems to take a message: say `message: true`/, error.message)
      end

      def test_what_cannot_be_called_that_way_is_refused_at_boot
        [[-> { 1 }, {}], [->(_a, _b, _c) { 1 }, {}], [->(a, metadata:) { [a, metadata] }, {}],
         [->(_payload, _metadata) { 1 }, {message: true}], [Task.per_worker(Two), {message: true}]].each do |task, options|
          error = assert_raises(Guildhall::ArgumentError) { Karafka.parallel(task, **options) }
          assert_match(/cannot be called with a (message alone|payload)/, error.message)
        end
        CALLABLE.each { |task| Karafka.parallel(task) }
      end

      class Two
        def call(payload, metadata) = [payload, metadata]
      end

      def test_codecs_take_no_messages
        [Guildhall::JSON, EVEN].each do |task|
          error = assert_raises(Guildhall::ArgumentError) { Karafka.parallel(task, message: true) }
          assert_includes error.message, "takes a payload, not a message; leave `message: true` out"
        end
      end

      def test_message_is_true_or_false
        ["no", nil].each do |message|
          error = assert_raises(Guildhall::ArgumentError) { Karafka.parallel(Where, message:) }
          assert_equal "message: must be true or false, not #{message.inspect}", error.message
        end
      end

      private

      # What the pool has left to its readers.
      def deferred(payloads, task)
        pool = Pool.new(workers: 0)
        use(pool)
        fetched(payloads, task)
      end

      def with_settings
        Thread.main.thread_variable_set(:settings, settings = {calls: 0})
        yield settings
      ensure
        Thread.main.thread_variable_set(:settings, nil)
      end

      def with_monitor(monitor)
        before = ::Karafka::App.config.monitor
        monitor_is(monitor)
        yield
      ensure
        monitor_is(before)
      end

      # As Karafka's set-up does.
      def monitor_is(monitor)
        ::Karafka::App.config.monitor = monitor
        ::Karafka.instance_variable_set(:@monitor, nil)
      end

      # @return [Array<Array(Boolean, Integer)>] all later calls of the comparison's `read`: whether by workers, bytes
      def dispatched
        before = Karafka.stats[:dispatched]
        yield
        Karafka.stats[:dispatched] - before
      end

      def use(pool, **settings)
        Karafka.setup do |config|
          config.pool = pool
          config.parallel = true
          settings.each { |name, value| config.public_send(:"#{name}=", value) }
        end
      end
    end
  end
end
