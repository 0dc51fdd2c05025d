# frozen_string_literal: true

module Guildhall
  module Kafka
    # Messages that are produced now and consumed later: they wait in delay topics, not in memory.
    module Delaying
      # The delay topics of a group. In each of them messages wait for the same time, so that the first one is always the next
      # one; a message goes from one to the other until its time has come. Shareable.
      Tiers = Data.define(:prefix, :delays, :serves) do
        # @!attribute [r] serves
        #   @return [Array<String>] topics that a process cannot consume without these, so that what was delayed comes to them
        # @!attribute [r] prefix
        #   @return [String] how the topics' names begin
        # @!attribute [r] delays
        #   @return [Array<Numeric>] seconds, ascending

        def initialize(serves: [].freeze, **) = super

        # @param delay [Numeric] one of {#delays}
        # @return [String] the topic
        def name(delay) = "#{prefix}.#{delay}"

        # @return [String] the topic for what cannot be sent on
        def dead_letters = "#{prefix}.dead"

        # @param seconds [Numeric] that a message has to wait
        # @return [String] the topic that it waits in next
        def topic(seconds) = name(delays.reverse_each.find { |delay| delay <= seconds } || delays.first)
      end
      # Seconds; a message that waits for a day passes some twenty of them.
      Tiers::DEFAULT = [1, 10, 60, 600, 3_600, 36_000].freeze
    end
  end
end
