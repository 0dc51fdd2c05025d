# frozen_string_literal: true

require "guildhall/kafka/reporting/attention"

module Guildhall
  class Web
    class Reports
      # One process, by the last it has reported: with what pages ask of all processes at once, which is made out when the report comes.
      class LastReport
        ENDED = %w[stopped failed].freeze
        SAMPLE_SECONDS = 9 # between two samples of its memory
        SAMPLES_SECONDS = 300
        GROWTH_SECONDS = 15 # from which on they tell how it grows
        private_constant :SAMPLE_SECONDS, :SAMPLES_SECONDS, :GROWTH_SECONDS
        # One topic of a group, in one process or in all. words: of the partitions' states, how many have it; severities as well; labels: of
        # those that need a person although their state is as usual.
        Topic = Struct.new(:group, :topic, :consumer, :partitions, :lag, :age, :rate, :words, :severities, :labels, :processes) do
          def self.none(group, topic) = new(group, topic, nil, 0, nil, nil, nil, {}, {}, {}, 0)

          def add(other)
            self.consumer ||= other.consumer
            self.partitions += other.partitions
            self.lag = lag.to_i + other.lag if other.lag
            self.age = other.age if other.age && (age.nil? || other.age > age)
            self.rate = rate.to_f + other.rate if other.rate
            words.update(other.words) { |_, one, more| one + more }
            severities.update(other.severities) { |_, one, more| one + more }
            labels.update(other.labels) { |_, one, more| one + more }
            self.processes += other.processes
          end
        end

        # found: see {Kafka::Reporting::Attention.found}; at: seconds since 1970, by the broker's clock; cores, gc: what it used of CPU,
        # and the share of its time, since the report before.
        attr_reader :report, :at, :found, :topics, :cores, :gc, :missed

        # @param report [Hash] of kind "state"
        # @param before [LastReport, nil]
        # @param limits [Kafka::Reporting::Limits]
        def initialize(report, at, before = nil, limits: Kafka::Reporting::Limits::DEFAULT)
          @report = report
          @at = at
          @missed = before ? before.missed + gap(before.report["seq"], report["seq"]) : 0
          earlier = before&.report
          seconds = earlier && (report["at"] - earlier["at"])
          seconds = nil unless seconds&.positive?
          @cores = rate("cpu", earlier, seconds)
          @gc = rate("gc", earlier, seconds)
          @samples = samples_with(before)
          @limits = limits
          @found = Kafka::Reporting::Attention.found(report, earlier, limits:, at:).freeze
          @topics = (report["topics"] || []).map { |topic| summary(topic, earlier, seconds) }.freeze
        end

        def name = report["process"]
        def short = Kafka::ProcessName.short(name)
        def ended? = ENDED.include?(report["state"])
        def partitions = topics.sum(&:partitions)

        # @param now [Float] by the broker's clock
        def lost?(now) = !ended? && now - at > LOST_SECONDS

        def late?(now) = !ended? && now - at > LATE_SECONDS

        # @return [String] a word
        def state(now)
          return "lost" if lost?(now)
          return "silent" if late?(now)
          return report["state"] unless report["state"] == "running"
          return "unhealthy" if report["live"]&.any?

          report["ready"]&.any? ? "not ready" : "running"
        end

        # @return [Float, nil] the bytes of memory that it needs more each minute, by its last reports; nil: they are too few
        def growth
          (first_at, first), (last_at, last) = @samples.values_at(0, -1)
          (last - first) * 60 / (last_at - first_at) if first && last_at - first_at >= GROWTH_SECONDS
        end

        protected

        # @return [Array<Array(Float, Integer)>] when it had how much memory
        attr_reader :samples

        private

        def samples_with(before)
          earlier = (before&.samples || []).drop_while { |time, _| at - time > SAMPLES_SECONDS }
          rss = report["rss"]
          return earlier if rss.nil? || (earlier.any? && at - earlier.last.first < SAMPLE_SECONDS)

          [*earlier, [at, rss].freeze].freeze
        end

        # How many reports were not sent, or have not arrived.
        def gap(last, this) = last && this && this > last ? this - last - 1 : 0

        def summary(topic, earlier, seconds)
          rows = topic["partitions"]
          words = Hash.new(0)
          severities = Hash.new(0)
          labels = Hash.new(0)
          limits = @limits.of(topic["topic"])
          rows.each do |row|
            words[row["state"]] += 1
            severity = Kafka::Reporting::Attention.severity(row, limits:)
            next unless severity

            severities[severity] += 1
            labels[Kafka::Reporting::Attention.label(row, limits:)] += 1 if Kafka::Reporting::Attention::USUAL.include?(row["state"])
          end
          lags = rows.filter_map { |row| row["lag"] }
          age = rows.filter_map { |row| Kafka::Reporting::Wording.age(row) }.max
          Topic.new(topic["group"], topic["topic"], topic["consumer"], rows.size, (lags.sum if lags.any?), age,
            consumed(topic, earlier, seconds), words, severities, labels, 1)
        end

        # @return [Float, nil] messages a second
        def consumed(topic, earlier, seconds)
          place = topic.values_at("group", "topic")
          same = seconds && (earlier["topics"] || []).find { |one| one.values_at("group", "topic") == place } or return
          before = same["partitions"].to_h { |row| [row["partition"], row["position"]] }
          topic["partitions"].sum do |row|
            position = row["position"]
            was = before[row["partition"]]
            position && was && position > was ? position - was : 0
          end / seconds
        end

        def rate(name, earlier, seconds)
          return unless seconds && report[name] && earlier[name] && report[name] >= earlier[name]

          (report[name] - earlier[name]) / seconds
        end
      end
    end
  end
end
