# frozen_string_literal: true

require_relative "../producing/settings"
require_relative "../producing/transactional_producer"
require_relative "../producing/transactions"
require_relative "letter_marks"

module Guildhall
  module Kafka
    module Broker
      # Changes the marks of dead letters, and sends them: what is sent in one change, and the marks that it leaves, are there together or
      # not at all, whatever happens in between. All who change one topic's marks use one transactional id, of which brokers serve only
      # the one that was opened last: who has been overtaken changes nothing, and tries again with the marks as they are then. So no two
      # replay the same letter. Belongs to one thread; close it.
      # @api private
      class LetterChanges
        # librdkafka's default of a minute is long: consumers of what is committed do not read beyond an open transaction.
        SETTINGS = {"linger.ms": 5, "transaction.timeout.ms": 30_000}.freeze
        FULL_SECONDS = 30 # that it waits for room in the producer's queue: about as long as a message may take
        TRIES = 30
        PAUSE_SECONDS = 0.2..0.4 # in which who has overtaken this one can end; later ones are longer
        LONGER = 5 # times, at most
        private_constant :SETTINGS, :TRIES, :PAUSE_SECONDS, :LONGER

        # @return [String]
        def self.transactional_id(topic, config) = "#{config.group_id}.replay/#{topic}"

        # @return [String] the group without members that keeps the note
        def self.note_group(config) = "#{DeadLetters.group(config)}.work"

        # @return [Boolean] whether somebody else has begun a change meanwhile
        def self.overtaken?(error)
          while error
            return true if error.respond_to?(:code) && %i[replaced purged].include?(Errors.kind(error.code))

            error = error.cause
          end
          false
        end

        # @param dead_letters [DeadLetters]
        def initialize(dead_letters, config)
          @dead_letters = dead_letters
          @group = DeadLetters.group(config)
          @note_group = self.class.note_group(config)
          id = self.class.transactional_id(dead_letters.name, config)
          settings = Producing::Settings.of(config, "transactional.id": id).merge(SETTINGS)
          @transactions = Producing::Transactions.new(->(_error) {}) { Producing::TransactionalProducer.new(settings, []) }
        end

        # One change. The block may be called again, where somebody else has changed something meanwhile. Blocks for the brokers.
        # @yieldparam changes [LetterChanges] for {#marks}, {#start}, {#keep}; what it raises leaves everything as it was
        # @return [Object] what the block returns
        def run
          tries = 0
          begin
            @transactions.run do |producer|
              @producer = producer
              yield self
            end
          rescue TransactionError, ProduceError, ReplayError => error
            raise unless self.class.overtaken?(error) && (tries += 1) < TRIES

            sleep(rand(PAUSE_SECONDS) * [tries, LONGER].min)
            retry
          end
        end

        # @return [LetterMarks] as they are now: nobody else can change them before this does
        def marks(partition) = @dead_letters.marks([partition], settled: true).fetch(partition)

        # @return [Producing::Delivery]
        def start(message) = @producer.start(message, FULL_SECONDS)

        # @param marks [LetterMarks]
        # @raise [ReplayError] where they do not fit
        def keep(partition, marks)
          offset, text = marks.dump
          commit(@group, partition, offset, text)
        end

        # @return [String, nil] the note as it is now
        def noted = @dead_letters.noted(settled: true)

        # Keeps a text for the topic, of 4,000 bytes at most, together with the other changes.
        def note(text) = commit(@note_group, 0, 0, text)

        def close = @transactions.close

        private

        def commit(group, partition, offset, text)
          place = Rdkafka::Consumer::Partition.new(partition, offset, 0, text)
          @producer.send_offset(@dead_letters.name, place) { Group::Client::GroupMetadata.of(group) }
        rescue Rdkafka::RdkafkaError => error
          raise if self.class.overtaken?(error)

          what = "offset #{offset} of #{@dead_letters.name}/#{partition} could not be committed for group #{group}"
          raise KafkaError.of(error.rdkafka_response, what, commit: group)
        end
      end
    end
  end
end
