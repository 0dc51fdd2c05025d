# frozen_string_literal: true

module Guildhall
  module Kafka
    module DeadLetterQueue
      # Which topics hold dead letters, so that nobody marks, replays or deletes messages of another topic: those that routes name. Where
      # routes name none, each message has to be a dead letter by its headers.
      # @api private
      class LetterTopics
        # @return [Array<String>]
        attr_reader :names

        # @param routes [Array<Routing::Topic>]
        def initialize(routes)
          @names = routes.filter_map(&:dead_letter_topic).uniq
        end

        # @param topic [String]
        # @raise [Guildhall::ArgumentError] where routes name others
        def check!(topic)
          return if @names.empty? || @names.include?(topic)

          raise Guildhall::ArgumentError, "no route has #{topic} as its dead letter topic; there is #{@names.join(", ")}"
        end

        # @param letter [DeadLetter]
        # @raise [Guildhall::ArgumentError] where neither routes nor its headers say that it is one
        def check_letter!(letter)
          return if @names.any? || letter.dead_lettered?

          raise Guildhall::ArgumentError, "#{letter} has none of the headers of a dead letter: is #{letter.topic} a dead letter topic? " \
                                          "Then name it in the dead_letter_queue of a route"
        end
      end
    end
  end
end
