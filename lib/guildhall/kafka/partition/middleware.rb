# frozen_string_literal: true

require_relative "../errors"
require_relative "error_kind"

module Guildhall
  module Kafka
    class Partition
      # What an application puts around the code of its consumers (`config.middleware`): objects with
      # `call(call) { … }`, of which each has to yield once. The first is the outermost.
      module Middleware
        # One call of a consumer's method, as middleware sees it: the route and the topic's name; the method (`event`): :initialized,
        # :consume, :tick, :periodic (a block of `every`), :eofed, :revoked or :shutdown, :perform for a job; what is consumed, a {Messages}
        # or an Array of {Message}s, nil for other events; and the number of the attempt, from 1 on.
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

          # @!visibility private
          # @return [Record, nil] the message at an offset; asking for it does not count as reading it
          def record(offset)
            messages.respond_to?(:record_at) ? messages.record_at(offset) : messages&.first&.record
          end

          # @!visibility private
          # @param error [Exception] that the block has raised
          # @return [Hash{Symbol=>Object}] where it has happened, with the names of `error.occurred`, what kind of error it is, and
          #   `key:`, a print of the failing message's key
          def failure(error)
            place = {type: "consumer.#{event}", group: topic.group, topic: name, partition:}
            return place unless consuming?

            offset = failing_offset(error)
            key = offset && record(offset)&.key
            print = key && Digest::SHA256.hexdigest(key.to_s)[0, 16]
            outage = true if ErrorKind.of(error, topic) == :outage
            {**place, attempt:, offset:, first_offset:, last_offset:, key: print, outage:}.compact
          end
        end

        # Whatever middleware makes of it: the block is run once, or this raises. What came to nothing must not pass for done.
        # @yield the consumer's code
        # @return [Object] what the block returns
        # @raise [MiddlewareError] where one has not yielded, or twice
        # @raise what the block raises, if middleware has rescued it, too
        def self.call(chain, call)
          outcome = nil # of the block: its value, or what it has raised
          problem = ->(text) { MiddlewareError.new("middleware #{chain.map(&:class).join(", ")}: #{text}") }
          innermost = lambda do
            raise problem.call("one has yielded twice") if outcome

            outcome = [yield]
            nil
          rescue StandardError, ScriptError => error
            outcome ||= [nil, error]
            raise
          end
          chain.reverse.reduce(innermost) { |inner, one| -> { one.call(call, &inner) } }.call
          raise problem.call("one has not yielded, and the consumer was not called") unless outcome

          value, error = outcome
          error ? raise(error) : value
        end
      end
    end
  end
end
