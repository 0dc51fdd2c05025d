# frozen_string_literal: true

require_relative "../consumer"
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

        def consume
          now = Time.now.to_f
          @call.forward(messages.map { |message| [message, forwarded(message, now)] }, patient: false, once: true) do |parcels|
            parcels.take_while(&:arrived?).each { |parcel| mark_as_consumed(parcel.message) }
          end
          commit_offsets! # what a crash sends twice may be sent twice again by each topic that follows
        end

        private

        def forwarded(message, now)
          left = (Envelope.due(message) || 0) - now
          return Envelope.pass_on(message, topic.delay_tiers.topic(left)) if left.positive?

          Envelope.open(message) || UnaddressedError.new("#{message.inspect} has no header that says where it goes")
        end
      end
    end
  end
end
