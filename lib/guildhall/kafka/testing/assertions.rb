# frozen_string_literal: true

require "guildhall/kafka"
require_relative "expectation"
require_relative "offline_topic"

module Guildhall
  module Kafka
    module Testing
      # Assertions for Minitest (and test-unit), to be included into test classes.
      #
      #     assert_produced(orders, topic: "copies", payload: {"id" => 7})
      #     assert_produced(topic: "orders", key: "7") { Checkout.call(cart) }
      module Assertions
        # @param subject [OfflineTopic, Offline::Producer, nil] nil: what the block produces with the application's producer
        # @param expected [Hash{Symbol=>Object}] as {Expectation#initialize} takes it
        def assert_produced(subject = nil, **expected, &block) = met!(Expectation.new(:produced, **expected), one_of(subject, block))

        # (see #assert_produced)
        def refute_produced(subject = nil, **expected, &block) = unmet!(Expectation.new(:produced, **expected), one_of(subject, block))

        # @param topic [OfflineTopic]
        # @param expected [Hash{Symbol=>Object}] as {Expectation#initialize} takes it
        def assert_dead_lettered(topic, **expected) = met!(Expectation.new(:dead_lettered, **expected), topic)

        # (see #assert_dead_lettered)
        def refute_dead_lettered(topic, **expected) = unmet!(Expectation.new(:dead_lettered, **expected), topic)

        # @param topic [OfflineTopic]
        # @param count [Integer, nil] as {MarkedExpectation#initialize} takes it
        def assert_marked(topic, count = nil) = met!(MarkedExpectation.new(count), topic)

        # (see #assert_marked)
        def refute_marked(topic, count = nil) = unmet!(MarkedExpectation.new(count), topic)

        private

        def one_of(subject, block)
          return block || subject unless block && subject

          raise Guildhall::ArgumentError, "a topic and a block were given: which of them is to have produced it? Leave out the other one"
        end

        def met!(expectation, subject) = assert(expectation.met?(subject), -> { expectation.failure })
        def unmet!(expectation, subject) = refute(expectation.met?(subject), -> { expectation.failure(negated: true) })
      end
    end
  end
end
