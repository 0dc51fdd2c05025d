# frozen_string_literal: true

require_relative "../dead_letters"
require_relative "messages"

module Guildhall
  class Web
    module Pages
      # The application's dead letter topics.
      class DeadLetterTopics < Page
        private

        def title = "Dead letters"

        def data
          routes = cluster.routes.select(&:dead_letter_topic).group_by(&:dead_letter_topic)
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

        SHOWN = 50
        private_constant :SHOWN

        def private? = true

        private

        def crumbs = {"Dead letters" => ["dead-letters"]}
        def title = names.fetch(:topic)
        def live? = @job&.running? || false

        def data
          name = names.fetch(:topic)
          filter = LetterFilter.of(@request)
          found = Web::DeadLetters.new(cluster, name, filter) { |letters| @job = @web.letter_jobs.look(letters) }
          all = !@request.text("all").nil?
          chosen = all ? found.all.select { |letter, _| filter.match?(letter) } : found.chosen.map { |letter| [letter, nil] }
          shown = payloads?(name)
          {topic: name, total: found.all.size, open: found.open.size, more: found.more, cause: filter.cause, query: filter.query,
           all:, shown:, causes: causes(found.open), chosen: chosen.size,
           letters: newest(chosen).map { |letter, mark| row(letter, mark, shown) }, chosen_open: found.chosen.size,
           replayable: found.chosen.count(&:replay_topic),
           sources: sources(found, :source_topic, filter.source),
           groups: sources(found, :source_group, filter.group), job: job(name), may: may(name, :replay, :discard, :delete_records)}
        end

        # @return [Array<String>] what can be chosen from, of those that are there
        def sources(found, name, chosen) = [*found.all.filter_map { |letter, _| letter.public_send(name) }, *chosen].uniq.sort

        def job(topic)
          return unless @job

          action = Actions::StopLetters.right(@web, @request, topic)
          by = @web.access.name(@request, action, topic)
          stop = @web.forms.token(by:, action:, target: topic, expect: {id: @job.id}) if by && @job.running?
          {text: @job.to_s, running: @job.running?, by: @job.by, why: @job.why, at: time(Time.at(@job.at)),
           total: @job.total, done: @job.done, stop:}
        end

        def newest(letters) = letters.sort_by { |letter, _| letter.time || Time.at(0) }.last(SHOWN).reverse

        def causes(letters)
          rows = letters.group_by { |letter| LetterFilter.cause(letter) }.map do |cause, some|
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
