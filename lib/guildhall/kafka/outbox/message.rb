# frozen_string_literal: true

require "guildhall/msgpack"

module Guildhall
  module Kafka
    module Outbox
      # A row: a message that no broker is known to have. It is deleted once one has it. A row that Kafka refuses is parked: it stays, with
      # `error`, until somebody retries or deletes it.
      class Message < Record
        self.table_name = "guildhall_outbox_messages"

        # The header with the row's number: what a relay has sent twice has the same.
        HEADER = "outbox_id"
        # @api private
        COLUMNS = %w[id shard parked topic key payload options error created_at].freeze
        OPTIONS = %i[partition partition_key timestamp headers].freeze # which few messages have
        MOST_COUNTED = 100_000 # of rows that wait: to count millions takes seconds
        CODEC = MessagePack.new(symbolize_names: true)
        private_constant :OPTIONS, :MOST_COUNTED, :CODEC

        # messages: rows that wait to be sent, at most {MOST_COUNTED}; seconds: the age of the oldest; parked: rows that Kafka has refused
        Status = Data.define(:messages, :seconds, :parked)

        scope :waiting, -> { where(parked: false) }
        scope :parked, -> { where(parked: true) }

        class << self
          # @param messages [Array<Hash>] checked ones, whose payloads are bytes
          # @raise [MissingTablesError]
          def write(messages)
            now = Time.now
            explaining { insert_all!(messages.map { |message| row_of(message).merge(created_at: now) }, record_timestamps: false) }
            Kafka.application.advise_once(NOT_SENT) unless Kafka.config.outbox
            notify
          end

          # @return [Status]
          def status
            oldest = waiting.order(:id).pick(:created_at)
            Status.new(messages: waiting.limit(MOST_COUNTED).count, seconds: oldest ? [Time.now - oldest, 0.0].max : 0.0,
              parked: parked.limit(MOST_COUNTED).count)
          end

          # Parked rows are sent again, behind what was sent meanwhile.
          # @param ids [Array<Integer>] of these rows; empty: all of them
          # @return [Integer] how many
          def retry(*ids)
            rows = ids.empty? ? parked : parked.where(id: ids)
            rows.update_all(parked: false, error: nil).tap { notify }
          end

          private

          def row_of(message)
            key = message[:key]
            options = message.slice(*OPTIONS).compact
            {shard: Shard.of(key || options[:partition_key] || options[:partition]&.to_s), topic: message[:topic].to_s, key:,
             payload: message[:payload], options: (MessagePack.encode(options) if options.any?)}
          end

          # Wakes the relays once the transaction has been committed, and not in it: transactions that notify commit one after the other.
          # Once for each transaction. Should it fail, the relays look a second later.
          def notify
            return unless notifies?

            transaction = current_transaction
            return if transaction.open? && transaction.equal?(ActiveSupport::IsolatedExecutionState[:guildhall_outbox])

            ActiveSupport::IsolatedExecutionState[:guildhall_outbox] = transaction
            transaction.after_commit do
              with_connection { |connection| connection.execute("NOTIFY #{Record::CHANNEL}") }
            rescue ::ActiveRecord::ActiveRecordError
              nil
            end
          end
        end

        # @return [Hash{Symbol=>Object}] what a producer takes
        # @raise [Guildhall::ArgumentError, DecodeError] where `options` are not what {.write} has written
        def to_message
          more = options ? CODEC.decode(options) : {}
          headers = more.is_a?(Hash) ? more.fetch(:headers, {}) : more
          raise Guildhall::ArgumentError, "the row's options must be MessagePack of a Hash, and so its headers" unless headers.is_a?(Hash)

          {**more, topic:, key:, payload:, headers: {**headers.transform_keys(&:to_s), HEADER => id.to_s}}
        end
      end
    end
  end
end
