# frozen_string_literal: true

require "guildhall/option_rules"

module Guildhall
  module Kafka
    module Filtering
      # The messages that a filter is called with: those of a batch that no filter before it has rejected or postponed. Used by one runner
      # at a time.
      class FilterContext
        include Enumerable

        POSTPONE = OptionRules.new(seconds: OptionRules.seconds)
        private_constant :POSTPONE

        # @return [Array<Integer>] the indexes of the records that were rejected
        attr_reader :rejected
        # @return [Integer, nil] the index of the first record that has to wait; nil: none has to
        attr_reader :postponed
        attr_reader :seconds

        def initialize(batch)
          @entries = batch.kept.map { |index| [index, Message.new(batch, index)] }
          @rejected = []
          @postponed = @seconds = nil
        end

        def each
          return enum_for(:each) { size } unless block_given?

          @entries.each { |_, message| yield message }
          self
        end

        def size = @entries.size
        def empty? = @entries.empty?
        def last = @entries.last&.last

        # Messages for which the block is true are not consumed; offsets pass them.
        def reject!
          gone, @entries = @entries.partition { |_, message| yield message }
          @rejected.concat(gone.map(&:first))
          self
        end

        # Messages for which the block is false or nil are not consumed; offsets pass them.
        def select! = reject! { |message| !yield(message) }

        # This message and all after it wait; those before it are consumed now. The partition is paused meanwhile; then the
        # filters are called with what has waited. Other partitions go on.
        def postpone(message, seconds)
          POSTPONE.check!({seconds:}, owner: "postpone")
          place = @entries.index { |_, other| other.equal?(message) }
          raise Guildhall::ArgumentError, "postpone takes one of these messages, not #{message.inspect}" unless place

          @postponed = @entries[place].first
          @seconds = seconds
          @entries = @entries.first(place)
          self
        end

        def inspect = "#<#{self.class} #{size} messages#{", #{@seconds} s to wait for the rest" if @seconds}>"
      end
    end
  end
end
