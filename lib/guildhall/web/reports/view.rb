# frozen_string_literal: true

require_relative "background"
require_relative "rules"

module Guildhall
  class Web
    class Reports
      # What is known at one moment: all processes together. Made for pages, which only read.
      class View
        # A partition, as its process has it; topic: what that report has of its topic; last: the {LastReport}. No Data: there may be
        # thousands of them in a page, and each would take a Hash to be made.
        Row = Struct.new(:row, :topic, :last)

        LEFT = 4 # characters of a process's name
        private_constant :LEFT

        # @return [Float] seconds since 1970, by the broker's clock: the moment that all of this is about
        attr_reader :now
        # @return [Float] seconds since {#now}: 0 but in {#as_reported}
        attr_reader :stale
        # @return [Array<LastReport>] also of processes that have ended
        attr_reader :processes
        # @return [Array<Store::Event>] of a day, the oldest first
        attr_reader :events
        # @return [Exception, nil] why nothing can be read
        attr_reader :problem
        # @return [Symbol] see {Store#phase}
        attr_reader :phase
        # @return [Hash{String=>Integer}] see {Store#skipped}
        attr_reader :skipped
        # @return [Float, nil] see {Store#ahead}
        attr_reader :ahead
        # @return [Kafka::Reporting::Limits]
        attr_reader :limits

        # @return [Array<String>] the applications that report, whichever this view is of
        attr_reader :apps

        # @param app [String, nil] the application whose processes, events and causes these are; nil: all
        # @param stale [Float] see {#stale}
        def initialize(store, processes:, events:, causes:, history:, ages:, now:, limits:, app: nil, apps: nil, stale: 0.0)
          @store = store
          @app = app
          @apps = apps || processes.filter_map { |last| last.report["app"] }.uniq.sort
          @ones = {}
          @processes = processes
          @events = events
          @causes = causes
          @history = history
          @ages = ages
          @now = now
          @stale = stale
          @limits = limits
          @problem = store.problem
          @phase = store.phase
          @skipped = store.skipped.dup
          @ahead = store.ahead
        end

        # @param app [String]
        # @return [View] what is known of one application. An error that others raise at the same place, too, counts with theirs
        def of(app)
          @ones.fetch(app) do
            one = with(app:, processes: @processes.select { |last| last.report["app"] == app },
              events: @events.select { |event| event.record["app"] == app }, causes: @causes.select { |cause| cause.apps.include?(app) })
            @apps.include?(app) ? @ones[app] = one : one
          end
        end

        # @return [View] what was known when the last report came: processes of which nothing can be read are not lost. Itself, while
        #   reports are not late
        def as_reported
          return self unless age.to_f > LATE_SECONDS

          @as_reported ||= with(now: @now - age, stale: age)
        end

        # Whether there is anything to be shown.
        def any? = @processes.any?

        # @return [Array<LastReport>] of processes that run
        def live = @live ||= @processes.reject { |last| last.ended? || last.lost?(@now) }

        # @return [Array<LastReport>] of processes that have not said that they end, and are not heard of any more
        def lost = @lost ||= @processes.select { |last| last.lost?(@now) }

        # @param groups [Array<String>]
        # @return [Time, nil] when a process of these groups has started last; nil: none reports
        def last_start(groups)
          started = live.filter_map { |last| last.report["started"] if last.topics.any? { |topic| groups.include?(topic.group) } }
          started.max&.then { |time| Time.at(time) }
        end

        # @param id [String] of a member, as the brokers name it
        # @return [LastReport, nil] its process
        def member(group, id)
          @members ||= live.each_with_object({}) do |last, found|
            last.report["groups"].to_a.each { |one| one["members"].each { |member| found[[one["group"], member["id"]]] = last } }
          end
          @members[[group, id]]
        end

        # @return [LastReport, nil]
        def process(name) = @processes.find { |last| last.name == name }

        # @return [String] the name of a process without what all have in common, and without the number where the host says enough
        def label(name)
          @labels ||= labels
          @labels.fetch(name) { Kafka::ProcessName.short(name) }
        end

        # @return [Float, nil] how old the last report of any process is
        def age = @processes.map(&:at).max&.then { |at| [@now - at, 0.0].max + @stale }

        # @return [Array<LastReport::Topic>] of all processes that run, by group and topic
        def topics
          @topics ||= live.each_with_object({}) do |last, found|
            last.topics.each { |topic| (found[[topic.group, topic.topic]] ||= LastReport::Topic.none(topic.group, topic.topic)).add(topic) }
          end.values.sort_by { |topic| [topic.group, topic.topic] }
        end

        # @return [Hash{String=>Array<LastReport::Topic>}]
        def groups = @groups ||= topics.group_by(&:group)

        # @return [Array<Row>] partitions of a group's topic, each by its newest report, by number
        def rows(group, topic)
          found = {}
          live.sort_by(&:at).each do |last|
            topics_of(last, group, topic).each { |one| one["partitions"].each { |row| found[row["partition"]] = Row.new(row, one, last) } }
          end
          found.values.sort_by { |one| one.row["partition"] }
        end

        # @return [Row, nil] one of {#rows}
        def row(group, topic, partition)
          found = live.flat_map do |last|
            topics_of(last, group, topic).filter_map do |one|
              row = one["partitions"].find { |row| row["partition"] == partition }
              Row.new(row, one, last) if row
            end
          end
          found.max_by { |row| row.last.at }
        end

        # @return [Array<Integer>] partitions that a process had which is lost, and none that runs has
        def unheld(last)
          last.report["topics"].to_a.flat_map do |topic|
            numbers = topic["partitions"].map { |row| row["partition"] }
            numbers.empty? ? [] : (numbers - held(topic["group"], topic["topic"])).map { |number| [topic["topic"], number] }
          end
        end

        # @yield as to {Kafka::Reporting::Attention.list}
        # @return [Array<Kafka::Reporting::Attention::Item>] the worst first
        def attention(&)
          @found ||= live.flat_map(&:found).then { |found| [*Rules.new(self).items(said(found)), *found] }
          items = Kafka::Reporting::Attention.list(@found, &)
          items.reject { |item| again?(item) }.map { |item| item.partitions ? item.with(more: background.of(item)) : item }
        end

        # @param found [Row]
        # @return [Kafka::Reporting::Attention::Item, nil] what {#attention} says of this partition; nil: nothing
        def partition_item(found, hidden: false)
          group, topic = found.topic.values_at("group", "topic")
          item = Kafka::Reporting::Attention.partition(found.last.found, group, topic, found.row["partition"], hidden:)
          item&.with(more: background.of(item), help: (item.help unless found.last.ended? || found.last.lost?(@now)))
        end

        # @return [Background]
        def background = @background ||= Background.new(self)

        # @return [Integer] errors in the last ten minutes
        def recent_errors = @causes.sum { |cause| cause.recent(@now) }

        # @return [Array<Cause>] what came last first
        def causes = @causes.sort_by { |cause| -cause.last }

        # @return [Cause, nil]
        def cause(fingerprint) = @causes.find { |cause| cause.fingerprint == fingerprint }

        # @return [Cause, nil] of an error as a state has it
        def cause_of(error)
          error && @causes.find do |cause|
            cause.record["class"] == error["error_class"] && line(cause.record["place"]) == line(error["place"])
          end
        end

        # @return [Hash{String=>Array}] see {History#series}
        def series(minutes: 60, group: nil, topic: nil) = @store.synchronize { @history.series(minutes, @now, app: @app, group:, topic:) }

        # @return [Hash{String=>Array}] see {History#process}
        def usage(name) = @store.synchronize { @history.process(name, @now) }

        # @return [Hash{String=>Array}] the age of one partition's oldest message, each minute that somebody looked
        def ages(group, topic, partition)
          last = (@now / 60).floor - 1
          numbers = [*(last - 59)..last]
          found = @store.synchronize { @ages[[group, topic, partition]].dup } || {}
          {"at" => numbers.map { |number| number * 60 }, "age" => numbers.map { |number| found[number] }}
        end

        # @return [Hash{Array(String, String)=>Array(Integer, Float, Float)}] by group and topic how many dead letters came in the last
        #   hour, and when the first and the last
        def dead = @dead ||= @store.synchronize { @history.dead(@now, @processes, app: @app) }

        # @return [Integer] minutes of the last hour that {#series} may have numbers for
        def known_minutes = @known_minutes ||= @store.synchronize { @history.known(@now) }

        # @return [Float, nil] the bytes that a process needs more each minute; nil: not known
        def growth(name)
          found = usage(name)["rss"].compact
          found.size > 4 ? (found.last - found.first).fdiv(found.size - 1) : process(name)&.growth
        end

        # @return [Hash{String=>Integer}] versions of guildhall, or another field of reports, and how many processes have each
        def tally(field) = live.filter_map { |last| last.report[field] }.tally

        private

        def with(**changes)
          View.new(@store, processes: @processes, events: @events, causes: @causes, history: @history, ages: @ages, now: @now,
            limits: @limits, app: @app, apps: @apps, stale: @stale, **changes)
        end

        # A state may name the method, too.
        def line(place) = Kafka::Reporting::Wording.line(place)

        # @return [Array<String>] fingerprints of the causes that these name
        def said(found)
          items = Kafka::Reporting::Attention.list(found).reject { |item| item.severity == :note }
          items.filter_map { |item| cause_of(item.error)&.fingerprint }.uniq
        end

        # A message that has just failed, with an error that a rule of several reports names.
        def again?(item)
          return false unless item.severity == :note && item.error

          @named ||= @found.filter_map { |one| cause_of(one.error) if one.is_a?(Kafka::Reporting::Attention::Item) && one.error }
          @named.include?(cause_of(item.error))
        end

        def labels
          hosts = @processes.group_by { |last| last.short[/\A(.*):/, 1] || last.short }
          from = hosts.size > 1 ? beginning(hosts.keys) : 0
          hosts.flat_map do |host, some|
            some.map do |last|
              [last.name, "#{host[from..]}#{last.short.delete_prefix(host) if some.size > 1}"]
            end
          end.to_h
        end

        # @return [Integer] up to where names are the same: whole words, and something is left
        def beginning(names)
          first, last = names.minmax
          same = first.chars.zip(last.chars).take_while { |one, other| one == other }.size
          same = [same, names.map(&:size).min - LEFT].min
          same.positive? ? first[0, same].rindex(/[-.]/)&.+(1) || 0 : 0
        end

        def topics_of(last, group, topic)
          (last.report["topics"] || []).select { |one| one["topic"] == topic && one["group"] == group }
        end

        def held(group, topic)
          @held ||= {}
          @held[[group, topic]] ||= live.flat_map do |last|
            topics_of(last, group, topic).flat_map { |one| one["partitions"].map { |row| row["partition"] } }
          end.uniq
        end
      end
    end
  end
end
