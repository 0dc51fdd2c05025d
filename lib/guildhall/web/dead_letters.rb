# frozen_string_literal: true

require_relative "letter_job"

module Guildhall
  class Web
    # The letters of a dead letter topic that a page looks at, with their marks: the newest {LetterJobs::NEWEST} of each partition. Made for
    # one request; blocks for the brokers.
    # @api private
    class DeadLetters
      LATER_MESSAGES = 20_000 # that are looked through for later ones of the same keys
      LATER_SECONDS = 2
      private_constant :LATER_MESSAGES, :LATER_SECONDS

      # @return [Array<Array(Kafka::DeadLetterQueue::DeadLetter, Symbol)>] without payloads, each with its mark, nil: it is open
      attr_reader :all
      # @return [Boolean] whether there are older ones
      attr_reader :more
      # @return [Hash{Integer=>Integer}] by partition, the offset behind the last
      attr_reader :upto

      # @param filter [LetterFilter]
      # @yieldparam letters [Kafka::Broker::DeadLetters] for further questions
      def initialize(cluster, topic, filter)
        @cluster = cluster
        @filter = filter
        cluster.dead_letters(topic) do |letters|
          read(letters)
          yield letters if block_given?
        end
      end

      # @return [Array<Kafka::DeadLetterQueue::DeadLetter>] that are neither replayed nor discarded
      def open = @open ||= @all.filter_map { |letter, mark| letter unless mark }

      # @return [Array<Kafka::DeadLetterQueue::DeadLetter>] open ones that the filter shows
      def chosen = open.select { |letter| @filter.match?(letter) } # rubocop:disable Style/SelectByRegexp -- no regexp

      # Messages of the same keys that came later, and that the letter's group has done.
      # @return [Array(Integer, Integer, Boolean)] keys that have some, and messages; whether all were looked through
      def later
        by_place = chosen.select { |letter| letter.key && letter.source_offset && letter.source_partition && letter.source_group }
          .group_by { |letter| [letter.source_topic, letter.source_group] }
        found = by_place.map { |(topic, group), letters| later_of(topic, group, letters) }
        [found.sum { |keys, _, _| keys.size }, found.sum { |_, messages, _| messages }, found.all? { |_, _, all| all }]
      end

      private

      def read(letters)
        ranges = letters.ranges
        marks = letters.marks(ranges.keys)
        @upto = ranges.transform_values(&:end)
        @more = ranges.values.any? { |range| range.size > LetterJobs::NEWEST }
        @all = ranges.flat_map do |number, range|
          newest = [range.begin, range.end - LetterJobs::NEWEST].max...range.end
          found = []
          letters.each(number, newest) { |letter| found << [letter.with(payload: nil), marks.fetch(number).of(letter.offset)] }
          found
        end
      end

      # @return [Array(Array<String>, Integer, Boolean)]
      def later_of(topic, group, letters)
        done = @cluster.offsets(group, topic).filter_map { |row| [row.partition, row.committed] if row.committed }.to_h
        first = Hash.new { |hash, partition| hash[partition] = {} }
        letters.each do |letter|
          keys = first[letter.source_partition]
          keys[letter.key.b] = [keys[letter.key.b], letter.source_offset].compact.min
        end
        from = first.to_h { |number, keys| [number, keys.values.min + 1] }.select { |number, offset| done[number]&.>(offset) }
        return [[], 0, true] if from.empty?

        look_through(topic, from, done, first)
      rescue Kafka::KafkaError, Kafka::UnknownTopicError, Guildhall::ArgumentError
        [[], 0, true] # the topic is gone, or may not be read: nothing is known of it
      end

      def look_through(topic, from, done, first)
        keys = []
        messages = 0
        search = @cluster.search(topic, from:, until: done.slice(*from.keys), messages: LATER_MESSAGES, seconds: LATER_SECONDS,
          decode: false)
        progress = search.run do |found|
          record = found.record
          offset = record.key && first[record.partition][record.key.b]
          next unless offset&.<(record.offset)

          messages += 1
          keys |= [[record.partition, record.key.b]]
        end
        [keys, messages, progress.done?]
      end
    end
  end
end
