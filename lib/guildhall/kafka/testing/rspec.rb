# frozen_string_literal: true

require "guildhall/kafka"
require_relative "expectation"
require_relative "offline_topic"

begin
  require "rspec/expectations"
rescue LoadError
  nil # the matchers work by their protocol
end

module Guildhall
  module Kafka
    module Testing
      # Matchers, in every example:
      #
      #     require "guildhall/kafka/testing/rspec"
      #     expect(orders).to have_produced(topic: "copies", payload: a_hash_including("id" => 7))
      #     expect { Checkout.call(cart) }.to have_produced(topic: "orders", key: "7")
      module RSpec
        # One of RSpec's matchers, by its protocol; `and` and `or` come from RSpec.
        class Matcher
          include ::RSpec::Matchers::Composable if defined?(::RSpec::Matchers::Composable)

          def initialize(expectation) = @expectation = expectation
          def matches?(actual) = @expectation.met?(actual)
          def failure_message = @expectation.failure
          def failure_message_when_negated = @expectation.failure(negated: true)
          def description = "have #{@expectation}"
          def supports_block_expectations? = true
          def supports_value_expectations? = true
        end
        private_constant :Matcher

        # rubocop:disable Naming/PredicatePrefix -- RSpec's matchers are called so
        # @param expected [Hash{Symbol=>Object}] as {Expectation#initialize} takes it
        def have_produced(**expected) = Matcher.new(Expectation.new(:produced, **expected))

        # (see #have_produced)
        def have_dead_lettered(**expected) = Matcher.new(Expectation.new(:dead_lettered, **expected))

        # @param count [Integer, nil] as {MarkedExpectation#initialize} takes it
        def have_marked(count = nil) = Matcher.new(MarkedExpectation.new(count))
        # rubocop:enable Naming/PredicatePrefix

        ::RSpec.configure { |config| config.include(self) } if defined?(::RSpec.configure)
      end
    end
  end
end
