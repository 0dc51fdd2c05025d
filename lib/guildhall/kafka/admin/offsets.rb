# frozen_string_literal: true

require_relative "../broker/group_offsets"
require_relative "../broker/parked_keys"

module Guildhall
  module Kafka
    class Admin
      # What consumer groups have committed. Methods block for the brokers' answers, and raise what {Admin} says.
      #
      #     plan = admin.offsets.plan("shop", to: Time.now - 600)
      #     puts "#{plan.skipped} skipped, #{plan.again} come again"
      #     plan.apply
      class Offsets
        # A topic to ask about, in place of a route.
        Named = Data.define(:name) do
          def pattern? = false
        end
        private_constant :Named

        RULES = OptionRules.new(
          to: OptionRules.rule(":earliest, :latest, an offset, a negative number or a Time") do |value|
            value.nil? || value.is_a?(Integer) || value.is_a?(Time) || %i[earliest latest].include?(value)
          end,
          shift: OptionRules.rule("a number of offsets") { |value| value.nil? || value.is_a?(Integer) },
          topics: OptionRules.rule("an Array of names") { |value| value.nil? || (value.is_a?(Array) && value.all?(String)) },
          partitions: OptionRules.rule("an Array of numbers") { |value| value.nil? || (value.is_a?(Array) && value.all?(Integer)) }
        )
        private_constant :RULES

        # @!visibility private
        # @param admin [Admin] whose offsets these are
        def initialize(connections, admin)
          @connections = connections
          @admin = admin
        end

        # @param topics [Array<String>, nil] nil: all in which the group has committed something
        # @param partitions [Array<Integer>, nil] nil: all
        # @param settled [Boolean] whether to wait for the end of an open transaction, for half a minute at most, as who is about to change
        #   offsets has to; false: where one stays open, the answer is what was committed before it
        # @return [Broker::Answer] of {Broker::GroupOffsets::Row}s by topic and partition; `problems` says what could not be asked, and why
        # @raise [UnknownTopicError] where one that is named does not exist
        def of(group, topics: nil, partitions: nil, settled: false)
          session = @connections.session(group)
          topics&.each { |name| session.topic(name) }
          answer = Broker::GroupOffsets.new({"group.id": group}, topics&.map { |name| Named.new(name) }, settled:).answer_from(session)
          return answer unless partitions

          Broker::Answer.new(answer.select { |row| partitions.include?(row.partition) }, answer.problems)
        end

        # The keys that a group's members have parked, with `ordering :key`: see {Kafka.parked_keys}. Reads the messages that they have
        # passed over.
        # @return [Broker::Answer] of {Broker::ParkedKeys::Row}s
        def parked_keys(group) = Broker::ParkedKeys.new({"group.id": group}).answer_from(@connections.session(group))

        # What setting a group's offsets anew would do; nothing is changed. By default all partitions of all topics in which the group has
        # committed something.
        # @param to [Symbol, Integer, Time] :earliest; :latest, what is there now; an offset; a Time: the first message at or after it, else
        #   the end; a negative number: so many back from what is committed, like `shift:`. A place that the partition does not have becomes
        #   the nearest one
        # @param shift [Integer] so many offsets on (back: negative) from what is committed; partitions without a committed offset stay
        # @param topics [Array<String>, nil] only these, also where the group has committed nothing there
        # @param partitions [Array<Integer>, nil] only these numbers
        # @param create [Boolean] whether there need be no such group yet
        # @return [Plan]
        # @raise [UnknownGroupError] where the group has committed nothing at all, which is a typing error more often than not
        # @raise [KafkaError] also where one partition cannot be asked: there is no plan with holes
        def plan(group, to: nil, shift: nil, topics: nil, partitions: nil, create: false)
          RULES.check!({to:, shift:, topics:, partitions:}, owner: "plan")
          raise Guildhall::ArgumentError, "plan takes either to: or shift:" if to.nil? == shift.nil?

          if to.is_a?(Integer) && to.negative?
            shift = to
            to = nil
          end
          rows = planned(group, topics, partitions, create)
          targets = shift ? rows.map { |row| row.committed && (row.position + shift) } : targets(group, rows, to)
          plan_of(group, rows.zip(targets).map { |row, target| step(row, target&.clamp(row.begin_offset, row.end_offset), wanted: target) })
        end

        # What copying a group's offsets to another one would do: {Groups#copy}.
        # @return [Plan]
        # @raise [Guildhall::ArgumentError] where the group has committed nothing
        def copy_plan(from, to)
          raise Guildhall::ArgumentError, "#{from} is to be copied to itself" if from == to

          sources = complete(from).select(&:committed)
          if sources.empty?
            @admin.groups[from]
            raise Guildhall::ArgumentError, "group #{from} has committed nothing: there is nothing to copy"
          end

          rows = complete(to, sources.map(&:topic).uniq).to_h { |row| [row.place, row] }
          plan_of(to, sources.map do |source|
            step(rows.fetch(source.place), source.committed, done: source.done, metadata: source.metadata)
          end)
        end

        # @!visibility private
        # Commits the steps of a plan that change something.
        def apply(plan)
          return if plan.changes.empty?

          @admin.groups.empty!(plan.group, "be given other offsets")
          moved!(plan)
          begin
            write(plan)
          rescue KafkaError => error
            return failed(plan, error)
          end
          done, left = outcome(plan)
          raise half_done(plan, done, left, "another process has committed meanwhile") if left.any?
        end

        def inspect = "#<#{self.class} of #{@connections.servers}>"

        private

        def planned(group, topics, partitions, create)
          all = complete(group)
          if all.empty?
            known = create || @admin.groups.list([group]).any?(&:exist?)
            raise @admin.groups.unknown(group) unless known
            raise Guildhall::ArgumentError, "group #{group} has committed nothing yet: say which topics are meant" unless topics
          end
          rows = topics ? complete(group, topics) : all
          missing = [*partitions] - rows.map(&:partition)
          raise Guildhall::ArgumentError, "#{rows.map(&:topic).uniq.join(", ")}: there is no partition #{missing.first}" if missing.any?

          partitions ? rows.select { |row| partitions.include?(row.partition) } : rows
        end

        # The errors name topic and partition.
        def complete(group, topics = nil)
          answer = of(group, topics:, settled: true)
          answer.problems.empty? ? answer : raise(answer.problems.first.error)
        end

        def targets(group, rows, to)
          case to
          when :earliest then rows.map(&:begin_offset)
          when :latest then rows.map(&:end_offset)
          when Integer then rows.map { to }
          else
            found = rows.empty? ? {} : @connections.session(group).offsets_at(rows.map(&:place), to)
            rows.map { |row| found[row.place] || row.end_offset }
          end
        end

        def step(row, target, wanted: target, done: [], metadata: nil)
          before, after = [[row.position, row.done], [target, done]].map do |offset, finished|
            offset ? Broker::OffsetRange.without(offset...row.end_offset, finished) : []
          end
          after = before unless target
          Step.new(topic: row.topic, partition: row.partition, from: row.committed, to: target, begin_offset: row.begin_offset,
            end_offset: row.end_offset, skipped: size(before, after), again: size(after, before), clamped: wanted != target, done:,
            metadata:, was_done: row.done, had_metadata: row.metadata)
        end

        # @return [Integer] offsets of some ranges that are not in others
        def size(ranges, others) = ranges.sum { |range| Broker::OffsetRange.without(range, others).sum(&:size) }

        def plan_of(group, steps)
          lost = []
          again = []
          reader = Broker::ParkedKeys.new({"group.id": group})
          steps.each do |step|
            next unless step.change? && step.from

            gaps = Partition::DoneRanges.gaps(step.from, step.was_done)
            below, above = gaps.flat_map { |gap| [[gap.begin...[gap.end, step.to].min, true], [[gap.begin, step.to].max...gap.end, false]] }
              .reject { |range, _| range.none? }.partition(&:last).map { |some| some.map(&:first) }
            lost.concat(reader.passed_over(@connections.session(group), step.place, below)) if below.any?
            again.concat(reader.passed_over(@connections.session(group), step.place, above)) if above.any? && step.done.empty?
          end
          Plan.new(group:, steps: steps.freeze, parked_skipped: lost.freeze, parked_again: again.freeze, offsets: self)
        end

        # What a plan has found is no longer so.
        def moved!(plan)
          now = committed(plan.group, plan.steps)
          moved = plan.steps.reject { |step| now.fetch(step.place) == step.from }
          return if moved.empty?

          raise OffsetsError, "group #{plan.group} has committed other offsets since the plan was made (#{places(moved)}): nothing was " \
                              "changed; make a plan anew"
        end

        def committed(group, steps)
          @connections.session(group).committed(steps.map(&:place), settled: true).transform_values do |found|
            raise found if found.is_a?(KafkaError)

            found.first
          end
        end

        # @return [Array(Array<Step>, Array<Step>)] the changes that are done, and the others
        def outcome(plan)
          now = committed(plan.group, plan.changes)
          plan.changes.partition { |step| now.fetch(step.place) == step.to }
        end

        # Whatever the error says, what is committed now tells what was done.
        def failed(plan, error)
          done, left = begin
            outcome(plan)
          rescue KafkaError
            raise OffsetsError, "it is not known whether the offsets of group #{plan.group} were set, look again: #{error.message}"
          end
          return if left.empty? # only the answer was lost
          raise half_done(plan, done, left, error.message) if done.any?
          raise error unless Broker::Errors.kind(error) == :member

          raise LiveGroupError.new(plan.group, @admin.groups.list([plan.group]).first&.members, "be given other offsets")
        end

        def write(plan)
          topics = plan.changes.group_by(&:topic).transform_values do |steps|
            steps.map { |step| [step.partition, step.to, Partition::DoneRanges.dump(step.to, step.done, step.metadata)] }
          end
          list = @admin.groups.topic_list(topics)
          @connections.request("offsets of group #{plan.group} to be set") do |client|
            client.alter_consumer_group_offsets(plan.group, list)
          end
        end

        def half_done(plan, done, left, why)
          OffsetsError.new("#{done.size} of #{done.size + left.size} offsets of group #{plan.group} were set, these were not: " \
                           "#{places(left)}: #{why}",
            done: done.map(&:place), left: left.map(&:place))
        end

        def places(steps) = "#{steps.first(5).map { |step| step.place.join("/") }.join(", ")}#{" …" if steps.size > 5}"
      end
    end
  end
end

require_relative "offsets/plan"
