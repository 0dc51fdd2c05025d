# frozen_string_literal: true

require_relative "../dead_letters"

module Guildhall
  class Web
    module Actions
      # What can be done with dead letters of a topic: with all that a filter shows, or with those that were selected.
      class Letters < Action
        NOTHING = "There is nothing to do: none of these letters is open. To replay one once more: guildhall dlq replay LETTER"
        SAME_KEY = "Later messages of the same %<keys>s are done: %<messages>s. A replay comes after them."
        private_constant :NOTHING, :SAME_KEY

        def target = names.fetch(:topic)
        def crumbs = {"Dead letters" => ["dead-letters"], target => path}

        private

        def filter = @filter ||= LetterFilter.of(@request)
        def path = ["dead-letters", target]

        # @return [DeadLetters] what the page shows
        def found = @found ||= DeadLetters.new(cluster, target, filter)

        # The letters that are meant: open ones.
        def letters = found.chosen

        # Asked when the question is shown: without it there is no token for the answer.
        def letter_topics = cluster.letter_topics

        # @param expect [Hash] beside the letters
        # @yieldparam count [String]
        # @yieldreturn [Hash] of a {Plan}
        def plan_of(verb, expect: {}, **)
          letter_topics.check!(target)
          common = {subject: target, back: path, query: filter.query, **}
          return Plan.new(title: verb, **common, **nothing) if letters.none?

          count = Printable.count(letters.size, "dead letter")
          Plan.new(title: "#{verb} #{count}", **common, **yield(count),
            expect: {filter: filter.to_h.compact, upto: found.upto, total: letters.size, **expect})
        end

        # @return [Hash] of a {Plan}: why there is nothing to do
        def nothing = {says: [filter.letters == [] ? "No letter was selected." : NOTHING], fields: []}

        def rows
          sources = letters.group_by { |letter| letter.source_topic || "not known" }
          sources.map { |topic, some| {what: "from #{topic}", value: some.size, kind: nil} }
        end

        def job(order, action, **)
          expect = order.expect
          LetterJob.new(id: order.id, action:, by: order.by, why: order.why, at: Time.now.to_f, total: expect["total"],
            filter: LetterFilter.load(expect["filter"]),
            upto: expect["upto"].to_h { |number, offset| [Integer(number), offset] }, **)
        end

        def start(job) = Done.new(note: @web.letter_jobs.start(target, job).to_s, path:, logged: nil)
      end

      # Sends them back to where they came from, or to another topic.
      class ReplayLetters < Letters
        CAUSE = "The cause may still be there: %<letters>s came after the last start of a process that consumes them (%<time>s UTC)."
        BACK = "They go back with their original bytes, keys and headers to the topic and partition they came from."
        EVERYBODY = "Every consumer group of that topic consumes them, also those that had handled them. The letters stay here, marked."
        ONCE = "Each hundred are sent and marked in one transaction: stopped or killed, it goes on where it was, and nothing is replayed " \
               "twice."
        NOWHERE = "No header says where they came from, so they stay open unless you name a topic: %<letters>s."
        private_constant :CAUSE, :BACK, :EVERYBODY, :ONCE, :NOWHERE

        def name = :replay

        def plan
          fields = [{name: "to", label: "To another topic (empty: back to where each came from)", value: to}]
          plan_of("Replay", fields:, expect: {to:}) do |count|
            check_topic(to)
            {button: "Replay #{count}#{" to #{to}" if to}", rows:, warnings: [*still_there, *later, *nowhere], says: [
              to ? "Their bytes, keys and headers go to #{to}, whose partitioner chooses the partition." : BACK,
              EVERYBODY, ONCE
            ]}
          end
        end

        def perform(order)
          to = order.expect["to"]
          check_right(to)
          start(job(order, "replay", to:))
        end

        private

        def to = @request.text("to")
        def letters = found.chosen.select { |letter| letter.replay_topic(to) }

        # A field for the topic stays, where that is all that they lack.
        def nothing = found.chosen.any? ? {says: [nowhere]} : super

        def nowhere
          left_out = found.chosen.size - letters.size
          format(NOWHERE, letters: Printable.count(left_out, "letter")) if left_out.positive?
        end

        # Whoever may replay letters of one topic may not for that reason write to all others.
        def check_right(topic) = topic && @web.access.check!(@request, name, topic)

        def check_topic(name)
          return if name.nil?
          raise Guildhall::ArgumentError, "a dead letter topic cannot be replayed to itself" if name == target

          check_right(name)
          cluster.topic(name)
        end

        def still_there
          time = cluster.reports.last_start(letters.filter_map(&:source_group).uniq) or return
          after = letters.count { |letter| letter.time && letter.time > time }
          format(CAUSE, letters: Printable.count(after, "letter"), time: time.utc.strftime("%H:%M:%S")) if after.positive?
        end

        def later
          keys, messages, all = found.later
          return if messages.zero?

          format(SAME_KEY, messages: "#{"at least " unless all}#{Printable.count(messages, "message")}",
            keys: keys == 1 ? "key" : "#{keys} keys")
        end
      end

      # Marks them, so that no replay takes them.
      class DiscardLetters < Letters
        def name = :discard

        def plan
          plan_of("Discard") do |count|
            {button: "Discard #{count}", danger: true, rows:, says: [
              "They are marked, and nobody replays them by mistake: they stay in the topic as long as its retention says, and " \
              "guildhall dlq replay LETTER still takes one back."
            ]}
          end
        end

        def perform(order) = start(job(order, "discard"))

        private

        def letters = super.each { |letter| letter_topics.check_letter!(letter) }
      end

      # Deletes a partition's letters up to one of them.
      class DeleteLetters < Letters
        def name = :delete_records

        def plan
          letter_topics.check!(target)
          place => {partition:, offset:}
          range, marks = cluster.dead_letters(target) { |letters| look(letters, partition, offset) }

          open = (range.begin..offset).count { |one| marks.of(one).nil? }
          count = offset + 1 - range.begin
          Plan.new(title: "Delete letters for good", subject: "#{target}/#{partition} up to offset #{offset}", back: path,
            query: filter.query, expect: {partition:, offset:, begin: range.begin}, danger: true,
            button: "Delete #{Printable.count(count, "letter")} for good",
            rows: [{what: "Offsets #{range.begin} to #{offset}", value: count, kind: "bad"},
                   {what: "of these neither replayed nor discarded", value: open, kind: ("bad" if open.positive?)}],
            says: ["Brokers delete all of this partition up to this letter. Nobody can bring that back."],
            warnings: open.positive? ? ["#{Printable.count(open, "letter")} that nobody has replayed or discarded will be lost."] : [])
        end

        def perform(order)
          partition, offset, first = order.expect.values_at("partition", "offset", "begin")
          now = cluster.dead_letters(target) { |letters| letters.ranges(partition)[partition] }
          raise Forms::Refused, "the letters that were there then are gone." unless now&.begin == first && now.cover?(offset)

          @web.application.admin { |admin| admin.topics.trim(target, before: offset + 1, partitions: [partition]) }
          count = Printable.count(offset + 1 - first, "letter")
          Done.new(note: "#{count} of #{target}/#{partition} were deleted, up to offset #{offset}.", path:)
        end

        private

        # @return [Array(Range<Integer>, Kafka::Broker::LetterMarks)] of the partition
        def look(letters, partition, offset)
          range = letters.ranges(partition)[partition]
          raise Forms::Refused.new("there is no such letter (any more).", 404) unless range&.cover?(offset)

          letters.each(partition, offset...(offset + 1)) { |letter| letter_topics.check_letter!(letter) }
          [range, letters.marks([partition]).fetch(partition)]
        end

        def place
          numbers = @request.texts("letter").first.to_s.match(/\A(\d+)@(\d+)\z/) or
            raise Guildhall::ArgumentError, "select the letter up to which they are deleted (letter[]=PARTITION@OFFSET)"
          {partition: Integer(numbers[1], 10), offset: Integer(numbers[2], 10)}
        end
      end

      # Ends a replay, or a discarding, after the hundred at hand.
      class StopLetters < Letters
        # Who may begin one of them, may end it.
        def self.right(web, request, topic) = %i[replay discard].find { |name| web.access.allowed?(request, name, topic) } || :replay

        def name = self.class.right(@web, @request, target)

        def plan
          job = cluster.dead_letters(target) { |letters| @web.letter_jobs.look(letters) }
          return Plan.new(title: "Stop", subject: target, back: path, says: ["Nothing is in progress."]) unless job&.running?

          Plan.new(title: "Stop", subject: job.to_s, back: path, expect: {id: job.id}, button: "Stop it",
            says: ["It ends after the hundred at hand. What is done stays done, and what is left stays open."])
        end

        def perform(order)
          job = @web.letter_jobs.stop(target, order.expect["id"], order.by)
          Done.new(note: job ? job.to_s : "Nothing is in progress.", path:)
        end
      end
    end
  end
end
