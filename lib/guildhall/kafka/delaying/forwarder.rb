# frozen_string_literal: true

require_relative "../consumer"
require_relative "../producing/delivery"
require_relative "envelope"

module Guildhall
  module Kafka
    module Delaying
      # Consumes a delay topic: sends each message to the next delay topic, or, when its time has come, to where it belongs. The
      # broker has it before it is done here, so that none is lost; after a crash some may be sent twice.
      class Forwarder < Consumer
        # For a message in a delay topic that does not say where it goes.
        class UnaddressedError < StandardError
          include Error
        end

        # @return [void]
        def initialized
          @arrived = {} # offsets behind a message that could not be sent: those are not sent again with it
        end

        # @return [void]
        def consume
          failure = send_all.reduce(nil) { |before, (message, delivery)| settle(message, delivery, before) }
          raise failure if failure

          commit_offsets! # what a crash sends twice may be sent twice again by each topic that follows
        end

        private

        # @return [Array<Array(Message, Producing::Delivery | Exception | nil)>] nil: it has arrived before
        def send_all
          now = Time.now.to_f
          messages.map { |message| [message, (send_one(message, now) unless @arrived.key?(message.offset))] }
        end

        def send_one(message, now)
          Producing::Delivery.start(producer, forwarded(message, now))
        rescue StandardError => error
          error
        end

        # @param failure [Exception, nil] of a message before it
        # @return [Exception, nil] the first
        def settle(message, delivery, failure)
          raise delivery if delivery.is_a?(Exception)

          delivery&.wait
          failure ? @arrived[message.offset] = true : done(message)
          failure
        rescue StandardError => error
          failure || error
        end

        def done(message)
          @arrived.delete(message.offset)
          mark_as_consumed(message)
        end

        def forwarded(message, now)
          left = (Envelope.due(message) || 0) - now
          return Envelope.pass_on(message, topic.delay_tiers.topic(left)) if left.positive?

          Envelope.open(message) || raise(UnaddressedError, "#{message.inspect} has no header that says where it goes")
        end
      end
    end
  end
end
