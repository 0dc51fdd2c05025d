# frozen_string_literal: true

require "guildhall/cli/probe"
require "guildhall/clock"
require "guildhall/printable"
require_relative "application_command"
require_relative "live_table"
require_relative "../reporting/attention"
require_relative "../reporting/report"

module Guildhall
  module Kafka
    module CLI
      # `guildhall top`: what processes do now, by their `/state`.
      class Top < ApplicationCommand
        INTERVAL_SECONDS = 2
        TOKEN = "GUILDHALL_STATE_TOKEN" # of the environment: arguments can be read by everybody on the machine
        PORT = "GUILDHALL_HEALTH_PORT"
        MAX_CHARACTERS = 2_000 # of a line
        MARKS = {bad: "!!", warn: "! ", note: "- "}.freeze
        PROCESSES = ["PROCESS", "STATE", "UP", "MEMORY", "CPU", "GC", "RUNNERS", "IN FLIGHT", "RELEASE"].freeze
        PARTITIONS = ["GROUP", "TOPIC", "STATE", "LAG", "OLDEST", "DONE", "END", "IN/S", "OUT/S", "ATTEMPT", "KEYS", "PROCESS",
                      "ERROR"].freeze
        # Columns that a narrow terminal goes without, in this order, of each table.
        DISPENSABLE = {PROCESSES => ["GC", "RELEASE", "IN FLIGHT", "CPU", "UP", "RUNNERS"].freeze,
                       PARTITIONS => ["END", "DONE", "IN/S", "PROCESS", "GROUP", "KEYS", "OUT/S", "ATTEMPT", "ERROR"].freeze}.freeze
        NOTES = <<~TEXT.freeze

          URL: of a process's health port, such as http://10.0.0.7:9292; several are shown together. Of a swarm, its parent's is enough.
          Without one: the process on this machine, by config.health of the application, or with #{TOKEN} by #{PORT} (9292).

          The token is that of config.health = {port: 9292, token: "…"}: without it there is no /state. It is taken from #{TOKEN},
          from --token-file, or from the application. The port speaks plain HTTP: reach another machine's through ssh -L or
          kubectl port-forward.

          !! needs somebody now, ! may pass by itself, - is worth knowing. LAG: messages that are not done; OLDEST: the age of the first of
          them. IN/S, OUT/S: messages a second that came, and were done, since the look before. A number is missing where it is not known.

          In a terminal it is drawn again every #{INTERVAL_SECONDS} seconds until Ctrl-C; elsewhere it is printed once. No broker is asked.

          Exit status: 0 all have answered; 1 none; #{PARTIAL} some; 2 wrong usage.
        TEXT

        # One process that was asked. report: what it has answered, nil: nothing; problem: why not.
        Answer = Data.define(:url, :report, :problem)

        def self.summary = "Show what processes do now, what needs attention first"
        def self.arguments = "[URL…]"

        private

        def arity = Float::INFINITY

        def define_options(options)
          super
          options.on("--token-file FILE", "a file with the token")
          options.on("-i", "--interval SECONDS", Float, "between two looks (default: #{INTERVAL_SECONDS})")
          options.on("--once", "print once, also in a terminal")
          options.on("--json", "once, a line of JSON for each process, as /state answers")
          options.separator(NOTES)
        end

        def call(arguments)
          unless @options[:interval].nil? || @options[:interval].between?(0.1, 86_400)
            raise Guildhall::ArgumentError, "--interval must be from 0.1 to 86,400, not #{@options[:interval]} #{see_help}"
          end

          require "json"
          require "net/http"
          @token = given_token
          load_application if @options[:require] || (arguments.empty? && @token.nil?)
          @urls = (arguments.empty? ? [here] : arguments).map { |text| url(text) }
          perform
        end

        def given_token
          file = @options[:"token-file"]
          text = (file ? File.binread(file) : ENV.fetch(TOKEN, "").b).strip
          return if text.empty? && file.nil?
          return text if text.match?(/\A[!-~]+\z/n)

          raise Guildhall::ArgumentError, "#{file ? "--token-file" : TOKEN}: that is no token, which has 16 characters or more, without " \
                                          "spaces #{see_help}"
        rescue SystemCallError => error
          raise Guildhall::ArgumentError, "--token-file: #{error.message} #{see_help}"
        end

        # @return [String] the URL of the process on this machine
        def here
          health = health_of_application
          host = health[:host].to_s
          host = "127.0.0.1" if ["", "0.0.0.0", "::"].include?(host)
          "http://#{host.include?(":") ? "[#{host}]" : host}:#{health[:port] || ENV.fetch(PORT, Guildhall::CLI::Probe::PORT)}"
        end

        def health_of_application = defined?(Kafka.application) ? Kafka.config.health || {} : {}

        # @return [String] what is sent
        def token
          @token ||= health_of_application[:token] or
            raise Guildhall::ArgumentError, "no token: set #{TOKEN}, or name with -r an application that has config.health = " \
                                            "{port: 9292, token: …} #{see_help}"
        end

        def url(text)
          uri = URI(text.include?("://") ? text : "http://#{text}")
          raise URI::InvalidURIError if !uri.is_a?(URI::HTTP) || uri.host.to_s.empty?

          uri.path = "#{uri.path.delete_suffix("/").delete_suffix("/state")}/state"
          uri
        rescue URI::Error
          raise Guildhall::ArgumentError, "not a URL: #{text}; write http://HOST:PORT #{see_help}"
        end

        def perform
          token
          look
          return draw if @out.tty? && !@options[:json] && !@options[:once]

          @options[:json] ? @answers.each { |answer| @out.puts(::JSON.generate(answer.report)) if answer.report } : @out.puts(screen(width))
          status(tell: @options[:json])
        rescue Interrupt
          @answers ? status : raise
        end

        def status(tell: false)
          silent = @answers.reject(&:report)
          silent.each { |answer| @err.puts("guildhall: #{answer.url}: #{answer.problem}") } if tell
          silent.empty? ? 0 : (silent.size == @answers.size ? 1 : PARTIAL)
        end

        def width = (@out.winsize.last.nonzero? if @out.tty?)
        def interval = @options[:interval] || INTERVAL_SECONDS

        def draw
          LiveTable.open(@out) do |table|
            table.keep(-> { screen(table.size.last) }, interval) { look }
          end
        end

        # Asks all at the same time: one that does not answer must not hold up the others.
        def look
          @before = reports.to_h { |report| [report["process"], report] }
          answers = ask(@urls).flat_map { |answer| [answer, *processes_of(answer)] }
          @answers = answers.uniq { |answer| answer.report ? answer.report["process"] : answer.url }
          @looked_at = Time.now
        end

        def ask(urls) = urls.map { |url| Thread.new { answer(url) } }.map(&:value)

        # A swarm's parent names its processes.
        def processes_of(answer)
          return [] unless answer.report && answer.report["kind"] == "swarm"

          running = answer.report["processes"].select { |one| one["port"] && one["pid"] }
          ask(running.map { |one| answer.url.dup.tap { |url| url.port = one["port"] } })
        end

        # What a port answers is not known, nor by whom: whatever is wrong with it, the others are shown.
        def answer(url)
          response = Net::HTTP.start(url.hostname, url.port, use_ssl: url.scheme == "https", open_timeout: 2, read_timeout: 5) do |http|
            http.get(url.request_uri, "Authorization" => "Bearer #{token}")
          end
          report = ::JSON.parse(Printable.valid(response.body)) if response.is_a?(Net::HTTPOK)
          problem = report?(report) ? nil : refused(response)
          Answer.new(url:, report: (report unless problem), problem:)
        rescue StandardError => error
          Answer.new(url:, report: nil, problem: "no answer: #{error.message[0, 200]}")
        end

        def report?(report)
          report.is_a?(Hash) && report["v"] == Reporting::Report::VERSION && %w[state swarm].include?(report["kind"])
        end

        def refused(response)
          case response.code
          when "200" then "it answers, but not with a report of version #{Reporting::Report::VERSION}: is that Guildhall, of this version?"
          when "401" then "it refuses the token: it is not that of its config.health"
          when "404" then "it has no /state: its config.health has no token:, or it is an earlier version"
          else "it answers #{response.code}"
          end
        end

        def reports = (@answers || []).filter_map(&:report)
        def processes = reports.select { |report| report["kind"] == "state" }

        def screen(width)
          rows = rows_of_partitions
          lines = [*wrapped(headline(rows), width), *silent_lines(width), *attention(width), "",
                   *table(PROCESSES, processes.map { |report| process(report) }, width)]
          lines += ["", *table(PARTITIONS, rows.map { |_, row| row }, width)] if rows.any?
          lines.map { |line| Printable.words(line, MAX_CHARACTERS) }
        end

        def headline(rows)
          partitions = rows.map(&:first)
          oldest = partitions.filter_map { |row| Reporting::Wording.age(row) }.max
          apps = processes.map { |report| report["app"] }.uniq.join(", ")
          "#{@looked_at.strftime("%T")}  #{"#{apps}: " if processes.any?}" \
            "#{processes.one? ? "1 process" : "#{processes.size} processes"}, #{Printable.count(partitions.size, "partition")}" \
            "#{behind(partitions)}#{", the oldest #{Printable.duration(oldest)}" if oldest}"
        end

        def behind(partitions)
          known = partitions.filter_map { |row| row["lag"] }
          return if partitions.empty?
          return ", how far behind is not known" if known.empty?

          ", #{Printable.count(known.sum, "message")} behind#{" where that is known" if known.size < partitions.size}"
        end

        def silent_lines(width)
          @answers.reject(&:report).flat_map { |answer| wrapped("#{MARKS.fetch(:bad)} #{answer.url}: #{answer.problem}", width) }
        end

        def attention(width)
          items = Reporting::Attention.of(reports, before: @before, limits:)
          return ["nothing needs attention"] if items.empty? && @answers.all?(&:report)

          items.flat_map { |item| wrapped("#{MARKS.fetch(item.severity)} #{item.place}: #{item.text}", width) }
        end

        # Sentences are not cut.
        def wrapped(text, width)
          text = Printable.words(text, MAX_CHARACTERS) # first: that makes it longer
          return [text] unless width && text.size > width

          text.split(/(?<=\S) (?=\S)/).each_with_object([+""]) do |word, lines|
            next lines.last << (lines.last.empty? ? word : " #{word}") if lines.last.empty? || lines.last.size + 1 + word.size <= width

            lines << "   #{word}"
          end
        end

        def process(report)
          before = @before[report["process"]]
          up = report["started"] && Printable.duration(report["at"] - report["started"])
          ["#{report["host"]}:#{report["pid"]}", report["state"], up,
           memory(report), share(report, before, "cpu")&.then { |cores| format("%.2f", cores) },
           share(report, before, "gc")&.then { |share| format("%.0f %%", share * 100) },
           runners(report["runners"]), report.dig("flight", "messages"), report["release"]]
        end

        def runners(runners)
          runners && "#{runners["busy"]}/#{runners["all"]}#{" +#{runners["waiting"]}" if runners["waiting"].positive?}"
        end

        def memory(report)
          used, limit = report.values_at("rss", "rss_limit").map { |bytes| bytes && (bytes / 1_048_576) }
          used && "#{used}#{" of #{limit}" if limit} MiB"
        end

        # @return [Float, nil] how much of a sum has come for each second since the look before
        def share(report, before, name)
          seconds = before && (report["at"] - before["at"])
          (report[name] - before[name]) / seconds if seconds&.positive?
        end

        # @return [Array<Array(Hash, Array)>] what the report has, and cells; what needs attention first
        def rows_of_partitions
          found = processes.flat_map do |report|
            report["topics"].flat_map { |topic| topic["partitions"].map { |row| [row, topic, report] } }
          end
          found.sort_by { |row, topic,| [*urgency(row, topic["topic"]), topic["group"], topic["topic"], row["partition"]] }
            .map { |row, topic, report| [row, cells(row, topic, report)] }
        end

        # Those of the application, if it was loaded.
        def limits = @limits ||= defined?(Kafka.application) ? Kafka.config.attention_limits : Reporting::Limits::DEFAULT

        def urgency(row, topic)
          severity = Reporting::Attention.severity(row, limits: limits.of(topic))
          [severity ? Reporting::Attention::SEVERITIES.index(severity) : MARKS.size, -Reporting::Wording.age(row).to_f, -row["lag"].to_i]
        end

        def cells(row, topic, report)
          before = (@before.dig(report["process"], "topics") || []).find do |one|
            one.values_at("group", "topic") == topic.values_at("group", "topic")
          end
          last = before && before["partitions"].find { |one| one["partition"] == row["partition"] }
          seconds = last && (report["at"] - @before[report["process"]]["at"])
          error = row["error"]
          [topic["group"], "#{topic["topic"]}/#{row["partition"]}", Reporting::Wording.state(row), row["lag"],
           Reporting::Wording.age(row)&.then { |age| Printable.duration(age) }, row["position"], row["end_offset"],
           rate(row, last, "end_offset", seconds), rate(row, last, "position", seconds), row["attempt"],
           row.dig("parked", "keys"), "#{report["host"]}:#{report["pid"]}", error && error["now"] ? error["error_class"] : nil]
        end

        def rate(row, last, name, seconds)
          return unless seconds&.positive? && row[name] && last[name] && row[name] >= last[name]

          rate = (row[name] - last[name]) / seconds
          format(rate < 10 ? "%.1f" : "%.0f", rate)
        end

        # Without columns of which nothing is known.
        def table(headings, rows, width)
          used = headings.each_index.select { |index| rows.any? { |row| row[index] } }
          LiveTable.narrow([headings, *rows].map { |row| row.values_at(*used) }, width, DISPENSABLE.fetch(headings))
        end
      end
    end
  end
end
