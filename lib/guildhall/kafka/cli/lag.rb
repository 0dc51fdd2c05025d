# frozen_string_literal: true

require "guildhall/printable"
require_relative "cluster_command"
require_relative "live_table"
require_relative "../reporting/wording"

module Guildhall
  module Kafka
    module CLI
      # A command that asks the brokers about consumer groups, and prints a row for each partition, or key.
      class GroupCommand < ClusterCommand
        private

        def define_options(options)
          super
          options.on("-g", "--groups A,B", Array, "only these consumer groups (default: all of the application; needed without one)")
          options.on("-t", "--topics A,B", Array, "only these topics (default: all)")
        end

        def perform
          answer = ask
          print_rows(answer)
          report(answer.problems, named: [*@options[:topics]])
        end

        # @return [Broker::Answer] for the routes of the application, where there is one; else for the topics in which the groups have
        #   committed something
        def ask
          return Kafka.application.public_send(self.class::QUERY, groups: @options[:groups], topics: @options[:topics]) if application?

          of_topics(known!(Broker::Answer.merge(queries.map(&:answer))))
        end

        # A group that is not there is a typing error, without routes to compare it with.
        # @raise [UnknownGroupError]
        def known!(answer)
          silent = silent_groups(answer)
          Kafka.admin { |admin| silent.each { |name| admin.groups[name] } } if silent.any?
          answer
        end

        # Those that are asked for, and of which nothing is known.
        def silent_groups(answer) = @options[:groups] - answer.map(&:group) - answer.problems.map(&:group)

        # Without routes.
        def queries
          groups = @options[:groups] or
            raise Guildhall::ArgumentError, "name groups with --groups (guildhall groups list prints them), or an application with " \
                                            "-r ./app.rb #{see_help}"

          groups.map { |group| query(Kafka.application.group_settings(group)) }
        end

        def of_topics(answer)
          return answer unless @options[:topics]

          Broker::Answer.new(answer.select { |row| @options[:topics].include?(row.topic) }, answer.problems)
        end

        def seconds(row) = row.seconds && format("%.1f", row.seconds)
      end

      # `guildhall lag`: how far consumer groups are behind.
      class Lag < GroupCommand
        QUERY = :lag
        HEADINGS = %w[GROUP TOPIC PARTITION COMMITTED END MESSAGES SECONDS].freeze
        RATES = ["IN/S", "OUT/S", "CAUGHT UP"].freeze
        INTERVAL_SECONDS = 5
        ABOVE = 1 # exit status: a lag is above what --max or --max-seconds says
        NAMED = 5 # partitions that are above
        # Columns that a narrow terminal goes without, in this order.
        DISPENSABLE = ["END", "COMMITTED", "OUT/S", "IN/S", "CAUGHT UP"].freeze
        NOTES = <<~TEXT.freeze

          SECONDS: the age of the oldest message that is not committed. MESSAGES is 0 if only control records of
          transactions follow the committed offset; between messages they are counted. COMMITTED with an exclamation mark
          lies beyond the END: the group will begin anew, as auto.offset.reset says.

          Without an application (--brokers, --profile), --groups names groups of any application: the topics are those in
          which they have committed something.

          --watch: in place on a terminal, what is furthest behind first; otherwise line after line, with the time. IN/S, OUT/S:
          messages a second that were produced, and committed, since the look before; CAUGHT UP: when nothing will be left, at
          these rates. While no broker answers it says so, and goes on. Ctrl-C ends it.

          Exit status: 0 no lag is above --max and --max-seconds (with --watch: at the last look); #{ABOVE} one is, or no broker answers;
          2 wrong usage, 78 wrong configuration. #{PARTIAL_NOTE}
        TEXT

        def self.summary = "Print the lag of consumer groups, from the broker; --watch it, or check it with --max"

        private

        def define_options(options)
          super
          options.on("-w", "--watch [SECONDS]", Float, "look again every so many seconds (default: #{INTERVAL_SECONDS})")
          options.on("--max N", Integer, "exit status #{ABOVE} where a partition's lag is more messages")
          options.on("--max-seconds S", Float, "exit status #{ABOVE} where a partition's lag is older")
          options.separator(NOTES)
        end

        def call(arguments)
          {watch: 0.1..86_400, max: 0.., "max-seconds": 0..}.each do |name, range|
            next if @options[name].nil? || range.cover?(@options[name])

            raise Guildhall::ArgumentError, "--#{name} must be #{range.begin} or more#{", #{range.end} at most" if range.end}, not " \
                                            "#{@options[name]} #{see_help}"
          end
          super
        end

        def perform
          return watch if @options.key?(:watch)

          answer = ask
          print_rows(answer)
          status = report(answer.problems, named: [*@options[:topics]])
          check(answer, status)
        end

        # @return [Integer] the exit status
        def check(rows, status = 0)
          limits = {messages: @options[:max], seconds: @options[:"max-seconds"]}.compact
          above = rows.select { |row| limits.any? { |name, limit| row.public_send(name)&.>(limit) } }
          above.first(NAMED).each do |row|
            @err.puts("guildhall: group #{row.group}, #{row.topic}/#{row.partition} is behind by #{row.messages} messages, " \
                      "the oldest #{row.seconds ? Printable.duration(row.seconds) : "of unknown age"}")
          end
          @err.puts("guildhall: and #{above.size - NAMED} more") if above.size > NAMED
          return ABOVE if above.any?

          unknown = rows.select { |row| row.seconds.nil? && limits[:seconds] }
          unknown.first(NAMED).each do |row|
            @err.puts("guildhall: group #{row.group}, #{row.topic}/#{row.partition}: the lag's age was not found out")
          end
          unknown.any? ? PARTIAL : status
        end

        def query(settings) = Broker::Lag.new(settings)

        # A lag that nobody has is no small one: --max must not let it pass.
        def known!(answer)
          super
          unread = [*@options[:topics]] - answer.map(&:topic) - answer.problems.map(&:topic)
          if answer.any? && unread.any?
            raise Guildhall::ArgumentError, "#{@options[:groups].join(", ")}: nothing was committed in topic #{unread.first}" \
                                            "#{Suggestion.for(unread.first, answer.map(&:topic).uniq)}"
          end
          Broker::Answer.new(answer, answer.problems + silent_groups(answer).map do |group|
            error = KafkaError.of(Broker::Librdkafka::NO_OFFSET_YET, "nothing was committed yet")
            Broker::Problem.new(group:, topic: nil, partitions: nil, error:)
          end)
        end

        def cells(row)
          [row.group, row.topic, row.partition, row.committed && "#{row.committed}#{"!" if row.beyond_end?}", row.end_offset, row.messages,
           seconds(row)]
        end

        def data(row) = {**row.to_h.transform_keys(&:to_s), "beyond_end" => row.beyond_end?}

        def interval = @options[:watch] || INTERVAL_SECONDS

        # Until it is interrupted.
        # @return [Integer] the exit status
        def watch
          watch = application? ? Kafka.application.lag_watch(groups: @options[:groups], topics: @options[:topics]) : Broker::LagWatch.new(queries)
          @rows = look(watch) # what is wrong from the start ends the command
          @out.tty? && !@options[:json] ? draw(watch) : append(watch)
        rescue Interrupt
          @rows ? check(@rows) : raise
        ensure
          watch&.close
        end

        def look(watch)
          rows = watch.look
          rows = known!(rows) unless @rows || application?
          rows = of_topics(rows)
          @looked_at = Time.now
          rows
        end

        # An outage passes.
        # @return [Broker::Answer, nil] nil: no broker has answered
        def look_again(watch)
          @rows = look(watch)
        rescue UnreachableError => error
          @outage = explained(error)
          nil
        end

        def draw(watch)
          LiveTable.open(@out) do |table|
            table.keep(-> { screen(table.size.last) }, interval) { @outage = nil if look_again(watch) }
          end
        end

        def screen(width)
          lines = [headline, *("no answer: #{@outage.message}" if @outage), *problem_lines]
          [*lines, "", *LiveTable.narrow([[*HEADINGS, *RATES], *@rows.map { |row| [*cells(row), *rates(row)] }], width, DISPENSABLE)]
        end

        def headline
          behind = @rows.count { |row| row.messages.positive? }
          oldest = @rows.filter_map(&:seconds).max
          "#{@looked_at.strftime("%T")}  #{@rows.sum(&:messages)} messages in #{behind} of #{@rows.size} partitions" \
            "#{", the oldest #{Printable.duration(oldest)}" if oldest&.positive?}  (every #{format("%g", interval)} s)"
        end

        def problem_lines = @rows.problems.map { |problem| "! #{problem}" }

        def rates(row) = [rate(row.rate_in), rate(row.rate_out), duration(row.caught_up_in)]
        def rate(rate) = rate && format(rate < 10 ? "%.1f" : "%.0f", rate)

        # @return [String, nil] such as "2m10s"
        def duration(seconds)
          case seconds
          when nil then nil
          when 0 then "yes"
          when Float::INFINITY then "never"
          else Printable.duration(seconds)
          end
        end

        # Each look below the one before.
        def append(watch)
          loop do
            print_look
            sleep(interval)
            out = @outage
            if look_again(watch)
              @err.puts("guildhall: #{Time.now.strftime("%T")} the brokers answer again") if out
              @outage = nil
            elsif out.nil?
              @err.puts("guildhall: #{Time.now.strftime("%T")} #{@outage.message}")
            end
          end
        end

        def print_look
          return if @outage

          @rows.problems.each { |problem| @err.puts("guildhall: #{problem}") unless problem.missing? }
          @options[:json] ? print_json_look : print_rows_look
        end

        def print_json_look
          @rows.each { |row| print_json({"time" => time(@looked_at, "%FT%TZ"), **data(row), "caught_up_in" => finite(row.caught_up_in)}) }
        end

        def print_rows_look
          rows = @rows.map { |row| [@looked_at.strftime("%T"), *cells(row), *rates(row)] }
          lines = TextTable.lines([["TIME", *HEADINGS, *RATES], *rows])
          @out.puts(@headed ? lines.drop(1) : lines)
          @headed = true
        end

        # JSON has no infinity.
        def finite(number) = number&.finite? ? number : nil
      end

      # `guildhall keys`: the keys that wait because a message of theirs has failed.
      class Keys < GroupCommand
        QUERY = :parked_keys
        HEADINGS = %w[GROUP TOPIC PARTITION KEY OFFSET MESSAGES SECONDS].freeze
        NOTES = <<~TEXT
          OFFSET: of the first message that waits. MESSAGES: how many were passed over when the group last
          committed; messages in work count, too. SECONDS: the age of the first.
        TEXT
        MAX_KEY_CHARACTERS = 60

        def self.summary = "Print the parked keys of topics that are ordered by key, from the broker"

        private

        def define_options(options)
          super
          options.separator("\n#{NOTES}#{PARTIAL_NOTE}")
        end

        def query(settings) = Broker::ParkedKeys.new(settings)

        def cells(row)
          key = row.key && Printable.words(row.key, MAX_KEY_CHARACTERS)
          [row.group, row.topic, row.partition, key, row.offset, row.messages, seconds(row)]
        end

        def data(row)
          {"group" => row.group, "topic" => row.topic, "partition" => row.partition, **text("key", row.key), "offset" => row.offset,
           "messages" => row.messages, "seconds" => row.seconds}
        end
      end
    end
  end
end
