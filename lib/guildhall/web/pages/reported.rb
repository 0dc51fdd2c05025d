# frozen_string_literal: true

require_relative "failure"
require_relative "narrowed"

module Guildhall
  class Web
    module Pages
      # What pages show of reports, in the words of {Kafka::Reporting}.
      module Reported
        include Narrowed

        Attention = Kafka::Reporting::Attention
        Wording = Kafka::Reporting::Wording
        KINDS = {bad: "bad", warn: "warn", note: "rest"}.freeze
        ORDER = %w[bad warn rest ok idle].freeze # of kinds, the worst first
        PROCESS_KINDS = {"lost" => "bad", "failed" => "bad", "unhealthy" => "bad", "silent" => "warn", "not ready" => "warn",
                         "running" => "ok", "quiet" => "rest", "stopping" => "rest", "starting" => "rest"}.freeze
        SHAPES = {"lost" => "lost", "dead letters" => "dead", "failed" => "lost"}.freeze
        PAGE = 100 # rows
        MAX_PAGES = 1_000_000
        OLDEST_AGE = 1e8 # seconds
        TOGETHER_SECONDS = 5 # in which the same event of several processes is one
        MAX_MESSAGE = 200 # characters of an error's message among others
        YOUNG_SECONDS = 10 # that the oldest message of partitions which keep up may be old
        private_constant :TOGETHER_SECONDS, :MAX_MESSAGE, :Attention, :Wording, :KINDS, :ORDER, :PROCESS_KINDS, :SHAPES, :PAGE,
          :MAX_PAGES, :OLDEST_AGE, :YOUNG_SECONDS

        private

        # @yieldreturn [Kafka::Broker::Answer] of brokers
        # @return [Kafka::Broker::Answer] nothing, and why, where they do not answer, and there are reports to be shown
        def ask
          yield
        rescue Kafka::UnreachableError => error
          raise unless reports.any?

          @unanswered = true
          Kafka::Broker::Answer.new([], [Kafka::Broker::Problem.new(group: nil, topic: nil, partitions: nil, error:)])
        end

        # @return [Hash, nil] why there are no reports, and the line that switches them on; nil: there are some
        def missing
          return if reports.any?
          return {why: "No process of the application #{@request.app} has reported lately."} if @request.app && reports.apps.any?
          return {why: "Processes' reports are still being read."} if reports.problem.nil? && reports.phase != :live

          case reports.problem
          when nil then silent("No process has reported in the last #{Reports::LOST_SECONDS} seconds.")
          when Kafka::UnknownTopicError then silent("No process reports: there is no topic #{cluster.reports_topic}.")
          else {why: "Processes' reports cannot be read: #{Printable.words(reports.problem.message, 300)}"}
          end
        end

        # Where the application has the line, it is another one that does not run.
        def silent(why)
          return {why:, line: Reports::LINE} unless @web.application.config.report_settings

          {why: "#{why} config.reports is set in this application: start `guildhall server`, or see the log of one that runs."}
        end

        # @return [Array<Kafka::Reporting::Attention::Item>] as far as who asks may see it
        def attention_items = reports.attention { |topic| !quotes?(topic) }

        # Whether what may quote messages of a topic may be shown: messages of errors, and names of keys.
        def quotes?(topic)
          @quotes ||= {}
          @quotes.fetch(topic) { @quotes[topic] = payloads?(topic) }
        end

        # @param item [Kafka::Reporting::Attention::Item]
        def item(item)
          cause = reports.cause_of(item.error)
          {kind: KINDS.fetch(item.severity), label: item.label, shape: SHAPES[item.label], place: item.place, what: item.what,
           why: why(item, cause), help: item.help, more: item.more, text: item.text, **lasting(item.began), process: item.process,
           group: item.group, topic: item.topic,
           partitions: item.partitions, messages: item.messages, fingerprint: cause&.fingerprint, path: place_path(item),
           links: links(item, cause)}
        end

        # @param began [Float, nil]
        # @return [Hash{Symbol=>Float}] since when, and for how many seconds by now
        def lasting(began) = {began:, since: began && [reports.now - began, 0.0].max}

        # What several reports say together has class and place only.
        def why(item, cause)
          message = cause && item.partitions.nil? && quotes?(cause.record["topic"]) && cause.record["message"]
          return item.why unless message

          item.why&.sub(Wording.named(item.error)) { Wording.named({**item.error, "message" => Printable.words(message, MAX_MESSAGE)}) }
        end

        # @return [Array<String, Integer>, nil] of the page that shows where it is; nil: there is none
        def place_path(item)
          if item.partitions then ["groups", item.group, item.topic, *(item.partitions if item.partitions.one?)]
          elsif item.process then ["processes", item.process]
          elsif item.label == "dead letters" && item.topic then ["dead-letters", item.topic]
          end
        end

        # @return [Array<Hash>] pages that say more, as their name and path; partition: of the messages that are meant, nil: all
        def links(item, cause)
          found = {"Error" => (["errors", cause.fingerprint] if cause),
                   "Messages" => (["topics", item.topic, "messages"] if item.partitions),
                   "Last report" => (place_path(item) if item.label == "lost"),
                   "Dead letters" => (place_path(item) if item.label == "dead letters"),
                   "What changed" => (["changes"] if item.label == "rebalances"),
                   "Schedule" => (["schedule"] if item.label == "task failed")}
          partition = item.partitions.first if item.partitions&.one?
          found.compact.map { |name, path| {name:, path:, partition: (partition if name == "Messages")} }
        end

        # @param topics [Array<Reports::LastReport::Topic>] of one group, or one
        # @return [Hash] how it is in a word, how far behind
        def summary(topics)
          all = topics.reduce(Reports::LastReport::Topic.none(nil, nil)) { |sum, topic| sum.tap { sum.add(topic) } }
          {kind: kind_of_topics(all), word: word_of_topics(all), oldest: all.age, messages: all.lag, rate: all.rate,
           partitions: all.partitions, over: very_old?(all.age, topics.one? ? topics.first.topic : nil)}
        end

        # @param topic [String, nil] nil: of several
        def very_old?(age, topic = nil) = age.to_f > (topic ? reports.limits.of(topic) : reports.limits).very_old

        def kind_of_topics(topic)
          severity = %i[bad warn].find { |one| topic.severities.key?(one) }
          return KINDS.fetch(severity) if severity

          topic.words.keys.intersect?(Attention::NOTED) || !young?(topic.age) ? "rest" : "ok"
        end

        def word_of_topics(topic)
          said = topic.words.except(*Attention::USUAL).sort_by { |state, _| Wording::STATES.keys.index(state) || 0 }
            .map { |state, count| "#{count} #{Wording::STATES.fetch(state, state)}" }
          said += topic.labels.map { |label, count| "#{count} #{label}" }
          return said.join(", ") if said.any?

          young?(topic.age) ? "keeping up" : "messages wait"
        end

        def young?(age) = age.to_f < YOUNG_SECONDS

        # @param found [Reports::View::Row]
        def partition_row(found)
          row = shown(found)
          item = reports.partition_item(found, hidden: !quotes?(found.topic["topic"]))
          {topic: found.topic["topic"], group: found.topic["group"], partition: row["partition"], state: row["state"],
           word: item ? item.label : Wording.state(row), kind: kind_of(row, item&.severity), severity: item&.severity&.name,
           why: item ? item.why.to_s : Wording.because(row), more: item&.more, help: item&.help, **lasting(item&.began),
           over: very_old?(Wording.age(row), found.topic["topic"]),
           lag: row["lag"], oldest: Wording.age(row), position: row["position"], end: row["end_offset"],
           failed_attempts: failed_attempts(row), process: found.last.name, short: reports.label(found.last.name)}
        end

        # As the reason counts them: attempts of an outage do not count against the retries, and a parked key has its own.
        # @return [Integer] of the first message that is not done, or of the parked key that has waited longest
        def failed_attempts(row)
          error = row.dig("error", "now") ? row["error"] : row.dig("parked", "oldest", 0, "error")
          error&.fetch("failures", nil).to_i
        end

        # @param found [Reports::View::Row]
        # @return [Hash] what of the partition's report may be shown
        def shown(found) = quotes?(found.topic["topic"]) ? found.row : Wording.hidden(found.row)

        def kind_of(row, severity) = severity == :note && Attention::USUAL.include?(row["state"]) ? "ok" : KINDS.fetch(severity, "ok")

        # For sorting: what is worst first, then what is oldest; a number, for a topic may have thousands of partitions.
        # @param found [Reports::View::Row]
        # @return [Float]
        def by_trouble(found)
          row = found.row
          severity = Attention.severity(row, limits: reports.limits.of(found.topic["topic"]))
          rank = severity ? Attention::SEVERITIES.index(severity) : 3
          (rank * OLDEST_AGE) - [Wording.age(row).to_f, OLDEST_AGE - 1].min + (row["partition"] * 1e-6)
        end

        # @param last [Reports::LastReport]
        def process_row(last)
          report = last.report
          state = last.state(reports.now)
          {name: last.name, short: reports.label(last.name), app: report["app"], state:, word: process_word(last, state),
           kind: process_kind(last), shape: SHAPES[state], cores: last.cores, gc: last.gc, rss: report["rss"],
           rss_limit: report["rss_limit"], full: full?(report), growth: reports.growth(last.name), runners: report["runners"],
           partitions: last.partitions, release: report["release"], guildhall: report["guildhall"], missed: last.missed, at: last.at,
           up: report["started"] && [report["at"] - report["started"], 0.0].max, ago: [reports.now - last.at, 0.0].max.round}
        end

        def full?(report) = Attention.memory_share(report).to_f >= reports.limits.memory

        def process_kind(last)
          kind = PROCESS_KINDS.fetch(last.state(reports.now), "idle")
          kind == "ok" && trouble(last.topics).positive? ? "warn" : kind
        end

        # One that runs is not well while partitions of it need a person.
        def process_word(last, state)
          return state unless state == "running" && trouble(last.topics).positive?

          "#{state}, #{Printable.count(trouble(last.topics), "needs", "need")} attention"
        end

        # @return [Integer] partitions that need a person
        def trouble(topics) = topics.sum { |one| one.severities.values_at(:bad, :warn).compact.sum }

        # @param kind [String] of a row
        # @return [Integer] for sorting: the worst first
        def rank(kind) = ORDER.index(kind)

        # @return [Array<Reports::LastReport>] what needs somebody first
        def processes
          reports.processes.sort_by { |last| [full?(last.report) ? -1 : rank(process_kind(last)), last.name] }
        end

        # @param cause [Reports::Cause]
        def cause_row(cause)
          record = cause.record
          message = record["message"] if quotes?(record["topic"])
          {fingerprint: cause.fingerprint, class: record["class"] || "unknown", place: record["place"], message:, outage: cause.outage?,
           count: cause.count, recent: cause.recent(reports.now), hour: cause.since(reports.now - 3_600), first: cause.first,
           last: cause.last, release: cause.release,
           places: cause.places.map { |group, topic| {group:, topic:} }, processes: cause.processes.size,
           series: cause.series(reports.now)["errors"]}
        end

        # @return [Hash] what happened
        def change(event)
          record = event.record
          started = "started#{" with release #{record["release"]}" if record["release"]}: " if event.name == "started"
          {at: event.at, name: event.name, text: "#{started}#{event.text}", process: record["process"],
           short: reports.label(record["process"]), group: record["group"], topic: record["topic"], partition: record["partition"]}
        end

        # What several processes say within a few seconds is one.
        # @return [Array<Hash>] the latest first
        def changes(events, limit)
          same = events.reverse.each_with_object([]) do |event, found|
            found.last && together?(found.last, event) ? found.last << event : found << [event]
          end
          same.first(limit).map { |some| {**change(some.first), times: some.size} }
        end

        def together?(some, event)
          first = some.first
          first.name == event.name && first.text == event.text && first.at - event.at <= TOGETHER_SECONDS &&
            some.none? { |one| one.record["process"] == event.record["process"] }
        end

        # The last minute may still be on its way.
        # @return [Array<Numeric, nil>] of the last hour, what may be known
        def known(series) = series.last(reports.known_minutes).then { |values| values.last.nil? ? values[...-1] : values }

        # @return [Integer] of the address, from 1
        def page_number = @request.text("page").to_i.clamp(1, MAX_PAGES)
        def numbers? = !@request.text("numbers").nil?

        # @param of [Integer] how many there are, narrowed or not
        # @return [Hash] rows of the page of a table that the address names, and which of how many
        # @yield of each, to make a row of it
        def paged(found, of = found.size, &)
          rows = found.drop((page_number - 1) * PAGE).first(PAGE)
          {rows: block_given? ? rows.map(&) : rows, page: page_number, pages: [found.size.fdiv(PAGE).ceil, 1].max, all: found.size, of:,
           q: wanted}
        end

        # @param allowed [Array<String>] the first is the default
        def sort(allowed) = allowed.find { |name| name == @request.text("sort") } || allowed.first
      end
    end
  end
end
