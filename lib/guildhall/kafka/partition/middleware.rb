# frozen_string_literal: true

require_relative "../errors"

module Guildhall
  module Kafka
    class Partition
      # What an application puts around the code of its consumers (`config.middleware`): objects with
      # `call(call) { … }`, of which each has to yield once. The first is the outermost.
      module Middleware
        # One call of a consumer's method, as middleware sees it.
        # @!attribute [r] topic
        #   @return [Routing::Topic] the route
        # @!attribute [r] name
        #   @return [String] the topic's name
        # @!attribute [r] event
        #   @return [Symbol] the method: :initialized, :consume, :tick, :periodic (a block of `every`), :eofed, :revoked or :shutdown;
        #     :perform for a job
        # @!attribute [r] messages
        #   @return [Messages, Array<Message>, nil] what is consumed; nil for other events
        # @!attribute [r] attempt
        #   @return [Integer] from 1 on
        Call = Data.define(:topic, :name, :partition, :event, :messages, :attempt) do
          # @return [Boolean] whether messages are consumed, all of a batch or one
          def consuming? = !messages.nil?

          # @return [String] names the call in logs and errors, and is the same in each attempt: "orders/0@971"
          def id = "#{name}/#{partition}#{"@#{first_offset}" if consuming?}"

          # @return [Integer, nil] of the messages; asking for it does not count as reading them
          def first_offset
            messages.respond_to?(:first_offset) ? messages.first_offset : messages&.first&.offset
          end

          # @return [Integer, nil] of the messages, as {#first_offset}
          def last_offset
            messages.respond_to?(:last_offset) ? messages.last_offset : messages&.last&.offset
          end

          # @param error [Exception] that the block has raised
          # @return [Integer, nil] the offset of the message that has caused it; nil: it cannot be told from the others
          def failing_offset(error)
            return messages.failing_offset(error) if messages.respond_to?(:failing_offset)

            messages.first.offset if messages&.one?
          end
        end

        # Whatever middleware makes of it: the block is run once, or this raises. What came to nothing must not pass for done.
        # @yield the consumer's code
        # @return [Object] what the block returns
        # @raise [MiddlewareError] where one has not yielded, or twice
        # @raise what the block raises, if middleware has rescued it, too
        def self.call(chain, call, &block)
          outcome = nil
          innermost = lambda do
            raise MiddlewareError, "#{listed(chain)}: one has yielded twice" if outcome

            outcome = Outcome.of(&block)
            raise outcome.error if outcome.error
          end
          chain.reverse.reduce(innermost) { |inner, one| -> { one.call(call, &inner) } }.call
          raise MiddlewareError, "#{listed(chain)}: one has not yielded, and the consumer was not called" unless outcome
          raise outcome.error if outcome.error

          outcome.value
        end

        # What a block has come to.
        Outcome = Data.define(:value, :error) do
          def self.of
            new(value: yield, error: nil)
          rescue StandardError, ScriptError => error
            new(value: nil, error:)
          end
        end
        private_constant :Outcome

        def self.listed(chain) = "middleware #{chain.map(&:class).join(", ")}"
        private_class_method :listed
      end
    end
  end
end
