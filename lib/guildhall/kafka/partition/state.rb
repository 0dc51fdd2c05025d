# frozen_string_literal: true

module Guildhall
  module Kafka
    class Partition
      # Where a partition is in its life:
      #
      #     :assigned ⇄ :seeking
      #         ↓           ↓
      #     :leaving (:revoked or :shutdown) → :left
      #
      # Messages are taken and worked on in :assigned only. With the lock of {Inbox} held, but for the readers.
      class State
        # @return [Symbol] :assigned, :seeking, :leaving or :left
        attr_reader :name
        # @return [Symbol, nil] why it is given up: :revoked or :shutdown; nil while it is not
        attr_reader :reason

        def initialize
          @name = :assigned
          @reason = nil
        end

        def assigned? = @name == :assigned

        def seeking? = @name == :seeking

        # @return [Boolean] whether it is given up, or was
        def leaving? = !@reason.nil?

        # @return [Boolean] whether it was given up, and its consumer was notified
        def left? = @name == :left

        # @return [Boolean] false when it is too late for a seek
        def seek
          return false if leaving?

          @name = :seeking
          true
        end

        # The reader's position was moved.
        # @return [Boolean] false when there was no seek to end
        def sought
          return false unless seeking?

          @name = :assigned
          true
        end

        # @param reason [Symbol] :revoked or :shutdown; the first one holds
        def leave(reason)
          return if leaving?

          @reason = reason
          @name = :leaving
        end

        def left
          @name = :left
        end

        def to_s
          (@reason && @name == :leaving ? @reason : @name).to_s
        end
      end
    end
  end
end
