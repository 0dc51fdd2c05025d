# frozen_string_literal: true

require_relative "messages"

module Guildhall
  class Web
    module Pages
      # The application's dead letter topics.
      class DeadLetterTopics < Page
        private

        def title = "Dead letters"

        def data
          routes = cluster.routes.select { |route| route.dead_letter_queue&.topic }.group_by { |route| route.dead_letter_queue.topic }
          {topics: routes.map { |name, some| {name:, sources: some.map(&:name).uniq, groups: some.map(&:group).uniq, **kept(name)} }}
        end

        def kept(name)
          topic = cluster.topic(name)
          {messages: topic.messages, retention: topic.settings["retention.ms"]&.value}
        rescue Kafka::UnknownTopicError
          {messages: 0, missing: true}
        end
      end

      # The dead letters of one topic, by what they died of.
      class DeadLetters < Page
        include MessageRows

        NEWEST = 2_000 # letters of a partition that are looked at
        SHOWN = 50
        private_constant :NEWEST, :SHOWN

        def private? = true

        private

        def crumbs = {"Dead letters" => ["dead-letters"]}
        def title = names.fetch(:topic)
        def live? = false

        def data
          name = names.fetch(:topic)
          letters, more = cluster.dead_letters(name) { |dead_letters| read(dead_letters) }
          open = letters.select { |_, mark| mark.nil? }
          cause = @request.text("cause")
          chosen = (@request.text("all") ? letters : open).select { |letter, _| cause.nil? || cause(letter) == cause }
          shown = payloads?(name)
          {topic: name, total: letters.size, open: open.size, more:, cause:, all: !@request.text("all").nil?, shown:,
           causes: causes(open), letters: newest(chosen).map { |letter, mark| row(letter, mark, shown) }, chosen: chosen.size}
        end

        # @return [Array(Array<Array(DeadLetter, Symbol)>, Boolean)] with their marks, and whether there are older ones
        def read(dead_letters)
          ranges = dead_letters.ranges
          marks = dead_letters.marks(ranges.keys)
          letters = ranges.flat_map do |number, range|
            newest = [range.begin, range.end - NEWEST].max...range.end
            found = []
            dead_letters.each(number, newest) { |letter| found << [letter.with(payload: nil), marks.fetch(number).of(letter.offset)] }
            found
          end
          [letters, ranges.values.any? { |range| range.size > NEWEST }]
        end

        def newest(letters) = letters.sort_by { |letter, _| letter.time || Time.at(0) }.last(SHOWN).reverse

        def cause(letter) = [letter.error_class || "unknown", letter.error_place].compact.join(" at ")

        def causes(letters)
          rows = letters.map(&:first).group_by { |letter| cause(letter) }.map do |cause, some|
            times = some.filter_map(&:time).minmax
            {cause:, error: some.first.error_class || "unknown", place: some.first.error_place, letters: some.size,
             sources: some.filter_map(&:source_topic).uniq, first: time(times.first), last: time(times.last)}
          end
          rows.sort_by { |row| -row[:letters] }
        end

        def row(letter, mark, shown)
          {partition: letter.partition, offset: letter.offset, time: time(letter.time), source: letter.source, group: letter.source_group,
           source_topic: letter.source_topic, source_partition: letter.source_partition, source_offset: letter.source_offset,
           attempts: letter.attempts, error: letter.error_class, mark: mark&.name,
           key: (key(letter.key) if shown)}
        end
      end
    end
  end
end
