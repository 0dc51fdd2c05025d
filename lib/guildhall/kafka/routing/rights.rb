# frozen_string_literal: true

require "strscan"
require_relative "../errors"
require_relative "../producing/settings"

module Guildhall
  module Kafka
    module Routing
      # The rights that routes need at the brokers: `guildhall routes --acls`, and the table of the guide.
      # @api private
      class Rights
        # Several names that begin alike, as a right can name them.
        Prefix = Data.define(:text)

        # What a feature needs. feature, place: as the guide says it; stage: a key of {STAGES}; names: takes a route and the application's
        # settings, answers Strings, {Prefix}es and Regexps, among them nil.
        Need = Data.define(:feature, :resource, :place, :operations, :stage, :names)

        # Some operations on one resource. pattern: :literal or :prefixed; nil: no right can say what the Regexp `name` says.
        Grant = Data.define(:servers, :principal, :resource, :name, :pattern, :operations, :features, :stage)

        # Who needs them => what is said above them
        STAGES = {
          run: "to run; CREATE only as long as the topic does not exist",
          reports: "so that processes can report to the dashboard, and take its commands; the application runs without",
          commands: "for the commands beside it, such as guildhall dlq list and replay; the application runs without",
          checks: "so that a start can warn of topics that are missing or take only smaller messages; the application runs without"
        }.freeze
        WORDS = {topic: "topic", group: "group", transactional_id: "transactional ids", cluster: "the cluster"}.freeze
        # Brokers allow DESCRIBE whoever has one of these.
        INCLUDING_DESCRIBE = %w[READ WRITE].freeze
        # Numbers of the Kafka protocol. CREATE is for what does not exist yet, and then brokers do not tell it.
        NUMBERS = {"READ" => 3, "WRITE" => 4}.freeze
        # What cannot be done without an operation.
        LACKING = {topic: {"READ" => "consumed", "WRITE" => "written to"}, group: {"READ" => "joined"}}.freeze
        private_constant :NUMBERS, :LACKING

        class << self
          private

          def need(resource, place, operations, stage = :run, &names)
            Need.new(feature: nil, resource:, place:, operations: operations.split, stage:, names:)
          end

          def group(topic) = (topic.group if topic.consumed? && !topic.assigned)

          def jobs?(topic) = topic.consumed? && Kafka.const_defined?(:ActiveJob, false) && topic.consumer <= Kafka::ActiveJob::Consumer
          def replays(topic, config) = ("#{config.group_id}.replay" if topic.dead_letter_topic)
          def target?(topic) = topic.needs_producer? || !topic.delay_topics.nil?
        end

        # The one list of what each feature needs.
        NEEDS = {
          "consuming" => [
            need(:topic, "`TOPIC`", "READ") { |topic| topic.name if topic.consumed? },
            need(:group, "`GROUP`", "READ") { |topic| group(topic) }
          ],
          "`assign` (without a group), `each_message`, `search`, `guildhall read`" => [
            need(:topic, "`TOPIC`", "READ") { |topic| topic.name if topic.assigned }
          ],
          "producing: a route with a `serializer`, or without a consumer" => [
            need(:topic, "`TOPIC`", "WRITE") { |topic| topic.name if topic.serializer || !topic.consumed? }
          ],
          "`dead_letter_queue topic:`" => [
            need(:topic, "of that name", "WRITE") { |topic, _| topic.dead_letter_topic }
          ],
          "`retry_topics`" => [
            need(:topic, "`TOPIC.GROUP.retry.SECONDS`, each", "READ WRITE CREATE") { |topic| topic.retry_topics&.next_topic }
          ],
          "`delay_topics`, `produce_later`" => [
            need(:topic, "`GROUP.delay.SECONDS`, each", "READ WRITE CREATE") { |topic| topic.name if topic.delay_topics },
            need(:topic, "`GROUP.delay.dead`", "WRITE CREATE") { |topic| topic.delay_topics&.dead_letters },
            need(:topic, "that messages go on to", "WRITE") { |topic, _| topic.serves }
          ],
          "`active_job_topic` (`delay_topics` as well)" => [
            need(:topic, "`QUEUE`", "READ WRITE") { |topic| topic.name if jobs?(topic) },
            need(:topic, "`QUEUE.dead`", "WRITE CREATE") { |topic| topic.dead_letter_topic if topic.dead_letter_queue&.own }
          ],
          "`schedule`" => [
            need(:topic, "`GROUP.schedule`", "READ WRITE CREATE") { |topic| topic.name if topic.scheduled_tasks }
          ],
          "`transactional`" => [
            need(:transactional_id, "that begin with `GROUP/TOPIC/`", "WRITE DESCRIBE") do |topic|
              Prefix.new("#{topic.group}/#{"#{topic.name}/" unless topic.pattern?}") if topic.transactional
            end
          ],
          "`Guildhall::Kafka.producer.transaction`" => [
            need(:transactional_id, "of `config.producer`", "WRITE DESCRIBE") do |_, config|
              config.producer.transform_keys(&:to_sym)[:"transactional.id"]
            end
          ],
          "`config.reports`" => [
            need(:topic, "`guildhall.reports`, or as the setting says", "WRITE CREATE", :reports) do |_, config|
              config.report_settings&.fetch(:topic)
            end
          ],
          "`config.commands`" => [
            need(:topic, "`guildhall.commands`, or as the setting says", "READ CREATE", :reports) { |_, config| config.commands_topic },
            need(:topic, "of the reports, for what becomes of commands", "WRITE CREATE", :reports) do |_, config|
              config.reports_topic if config.commands
            end
          ],
          "`guildhall lag`, `keys`" => [
            need(:topic, "`TOPIC`; without READ the column SECONDS is empty", "DESCRIBE", :commands) do |topic|
              topic.name if topic.consumed?
            end,
            need(:group, "`GROUP`", "DESCRIBE", :commands) { |topic| group(topic) }
          ],
          "`guildhall dlq list`, `dlq show`" => [
            need(:topic, "of the dead letters", "READ", :commands) { |topic, _| topic.dead_letter_topic },
            need(:group, "`GROUP_ID.replay` (`config.group_id`); without it, MARK is `?`", "DESCRIBE", :commands) do |topic, config|
              replays(topic, config)
            end
          ],
          "`guildhall dlq replay`, `dlq discard`" => [
            need(:topic, "of the dead letters", "READ", :commands) { |topic, _| topic.dead_letter_topic },
            need(:topic, "that they go back to", "WRITE", :commands) do |topic|
              topic.name if topic.dead_letter_topic && !topic.retry_topic?
            end,
            need(:group, "`GROUP_ID.replay`", "READ", :commands) { |topic, config| replays(topic, config) },
            need(:group, "`GROUP_ID.replay.work`: from the dashboard", "READ", :commands) do |topic, config|
              replays(topic, config)&.then { |name| "#{name}.work" }
            end,
            need(:transactional_id, "that begin with `GROUP_ID.replay/`", "WRITE DESCRIBE", :commands) do |topic, config|
              replays(topic, config)&.then { |name| Prefix.new("#{name}/") }
            end
          ],
          "`guildhall schedule list`" => [
            need(:topic, "of the schedule", "READ", :commands) { |topic| topic.name if topic.scheduled_tasks }
          ],
          "`guildhall schedule run`, `enable`, `disable`" => [
            need(:topic, "of the schedule", "READ WRITE", :commands) { |topic| topic.name if topic.scheduled_tasks }
          ],
          "the check of topics that messages are sent on to, at the start" => [
            need(:topic, "`TOPIC`, and those topics", "DESCRIBE_CONFIGS", :checks) do |topic|
              [topic.name, topic.dead_letter_topic, topic.retry_topics&.next_topic] if target?(topic)
            end,
            need(:cluster, nil, "DESCRIBE_CONFIGS", :checks) { |topic| "kafka-cluster" if target?(topic) }
          ]
        }.flat_map { |feature, needs| needs.map { |need| need.with(feature:) } }.freeze

        # @return [String] the guide's table
        def self.to_markdown
          rows = NEEDS.chunk_while { |one, other| one.feature == other.feature }.flat_map do |needs|
            needs.each_with_index.map do |need, index|
              [(need.feature if index.zero?), [WORDS.fetch(need.resource), *need.place].join(" "), need.operations.join(", ")]
            end
          end
          ["| feature | resource | operations |", "|---|---|---|", *rows.map { |row| "| #{row.join(" | ")} |".squeeze(" ") }].join("\n")
        end

        # @param authorized [Array<Integer>, nil] operations as brokers tell them; none: they do not
        # @return [String, nil] which of the operations are missing, and what to do
        def self.refusal(resource, operations, authorized)
          return if authorized.nil? || authorized.empty?

          lacking = operations.select { |operation| NUMBERS.key?(operation) && !authorized.include?(NUMBERS[operation]) }
          words = lacking.map { |operation| LACKING.fetch(resource).fetch(operation) }
          "may not be #{words.join(", nor ")}: grant #{lacking.join(", ")} on it" if lacking.any?
        end

        # @return [String, nil] how each name begins that the pattern matches; nil: they begin differently, or it cannot be said
        def self.prefix(regexp)
          return if regexp.options.anybits?(Regexp::IGNORECASE | Regexp::EXTENDED)

          scanner = StringScanner.new(regexp.source)
          return unless scanner.skip(/\\A|\^/)

          found = +""
          while (char = scanner.scan(/[\w-]|\\[.-]/))
            break if scanner.match?(/[?*{]/) # may be missing

            found << char.delete_prefix("\\")
          end
          found unless found.empty? || alternatives?(regexp.source)
        end

        # @return [Boolean] whether the pattern has a choice outside of parentheses
        def self.alternatives?(source)
          depth = 0
          source.scan(/\\.|\[(?:\\.|[^\]\\])*\]|[()|]/m) do |token|
            case token
            when "(" then depth += 1
            when ")" then depth -= 1
            when "|" then return true if depth.zero?
            end
          end
          false
        end
        private_class_method :alternatives?

        # @param topics [Array<Topic>] all routes
        # @param principal [String, nil] "User:shop"; nil: the user that the settings name
        # @yieldparam topic [Topic]
        # @yieldreturn [Hash{Symbol=>Object}] librdkafka's settings of the client that consumes it
        def initialize(topics, config, principal: nil, &settings)
          @topics = topics
          @config = config
          @principal = principal
          @settings = settings
          @producer = Producing::Settings.of(config)
        end

        # What is granted for one stage is left out in later ones.
        # @return [Array<Grant>]
        # @raise [Guildhall::ArgumentError] if nothing says whom they are for
        def grants
          granted = Hash.new { |all, key| all[key] = [] }
          STAGES.keys.flat_map { |stage| merged(NEEDS.select { |need| need.stage == stage }, stage, granted) }
        end

        # What one client needs to run.
        # @yieldparam settings [Hash{Symbol=>Object}] of a client
        # @yieldreturn [Boolean] whether that is the one
        # @return [Hash{Array(Symbol, Object)=>Array<String>}] operations by resource and name: a String, {Prefix} or Regexp
        def needed
          wanted = NEEDS.select { |need| need.stage == :run }.product(@topics).flat_map do |need, topic|
            operations = need.operations.select { |operation| yield client(topic, operation, :run) }
            names(need, topic).product(operations).map { |name, operation| [[need.resource, name], operation] }
          end
          wanted.group_by(&:first).transform_values { |same| same.map(&:last).uniq }
        end

        private

        def merged(needs, stage, granted)
          wanted = needs.flat_map { |need| @topics.flat_map { |topic| places(need, topic) } }
          wanted.group_by(&:first).filter_map do |place, same|
            operations = without_describe(same.flat_map { |_, operation, _| operation }.uniq, granted[place])
            next if operations.empty?

            granted[place].concat(operations)
            servers, principal, resource, name, pattern = place
            Grant.new(servers:, principal:, resource:, name:, pattern:, operations:, features: same.map(&:last).uniq, stage:)
          end
        end

        # @return [Array(Array, String, String)] place, operation and feature
        def places(need, topic)
          feature = need.feature.delete("`")
          names(need, topic).flat_map do |name|
            need.operations.map { |operation| [[*whose(topic, operation, need.stage), need.resource, *named(name)], operation, feature] }
          end
        end

        def names(need, topic) = [*need.names.call(topic, @config)].compact

        def named(name)
          case name
          when Prefix then [name.text, :prefixed]
          when Regexp then Rights.prefix(name)&.then { |prefix| [prefix, :prefixed] } || [name, nil]
          else [name, :literal]
          end
        end

        # A route may have credentials of its own, with which it only consumes.
        def client(topic, operation, stage)
          operation == "WRITE" || %i[commands reports].include?(stage) ? @producer : @settings.call(topic)
        end

        def whose(...)
          settings = client(...)
          [UnreachableError.servers(settings), @principal || user(settings)]
        end

        def user(settings)
          name = settings[:"sasl.username"] or
            raise Guildhall::ArgumentError, "whom are the rights for? Name the principal, as --principal User:shop: the settings have no " \
                                            "sasl.username. That of a client certificate is its subject, as in User:CN=shop"
          "User:#{name}"
        end

        def without_describe(operations, granted)
          operations -= granted
          (operations + granted).intersect?(INCLUDING_DESCRIBE) ? operations - ["DESCRIBE"] : operations
        end
      end
    end
  end
end
