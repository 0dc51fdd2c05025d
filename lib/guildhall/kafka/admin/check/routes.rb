# frozen_string_literal: true

require_relative "../../broker/target_check"
require_relative "../../producing/transactional_producer"

module Guildhall
  module Kafka
    class Admin
      class Check
        # The topics, groups and transactional ids of routes, at one cluster.
        # @api private
        class Routes
          # Numbers of the Kafka protocol.
          TOPIC = 2
          BROKER = 4
          FUTURE_SECONDS = 2 # a message that is dated later than this from now: clocks differ
          NEVER = -1 # a retention without an end
          SESSION_MS = 45_000 # librdkafka's default
          TRANSACTION_MS = 60_000 # librdkafka's default
          RECEIVE_BYTES = 100_000_000 # librdkafka's default
          TRANSACTION_SECONDS = 10 # for the brokers to accept a transactional id
          UNITS = [[86_400, "days"], [3_600, "hours"], [60, "minutes"], [1, "seconds"]].freeze
          private_constant(*constants(false))

          # @param routes [Array<Routing::Topic>] that this client consumes
          # @param needed [Hash{Array(Symbol, Object)=>Array<String>}] what it does: as {Routing::Rights#needed}
          # @param all [Array<Routing::Topic>] of the application
          # @param note [#call] gets the members of a {Finding}
          def initialize(connections, routes, needed, all, config, clients, note)
            @connections = connections
            @session = connections.session
            @routes = routes
            @needed = needed
            @all = all
            @config = config
            @clients = clients
            @note = note
          end

          def run
            names = @session.topic_names
            topics(names)
            groups
            transactions
          rescue KafkaError => error
            @note.call("topics", "routes", :problem, error.message)
          end

          private

          # Where messages of the routes are consumed, and sent on to.
          def topics(names)
            @routes.select(&:pattern?).each { |route| pattern(route, names) }
            @operations = operations(names)
            describe(@operations.keys)
            wrong = problems_of_targets
            drifted = drifted(names)
            @described.each_key { |name| topic(name, wrong, drifted.fetch(name, [])) }
          end

          # @return [Hash{String=>Array<String>}] those that are needed, by topic
          def operations(names)
            wanted = @needed.select { |(resource, _), _| resource == :topic }.flat_map do |(_, name), operations|
              (name.is_a?(Regexp) ? matching(name, names) : [name]).product(operations)
            end
            wanted.group_by(&:first).transform_values { |same| same.map(&:last).uniq }
          end

          def matching(pattern, names)
            routes = @all.select { |route| route.name == pattern }
            names.select { |name| routes.any? { |route| route.match?(name) } }
          end

          # Topics that are missing are told anyway.
          # @return [Hash{String=>Array<TopicPlan::Change>}] where topics are other than routes declare, by topic
          def drifted(names)
            declared = Routing::DeclaredTopic.all(@all).select { |one| @operations.key?(one.name) && names.include?(one.name) }
            TopicPlan.new(Topics.new(@connections), declared).changes.select(&:to).group_by(&:topic)
          end

          def consumed?(name) = @operations.fetch(name, []).include?("READ")

          def pattern(route, names)
            count = names.count { |name| route.match?(name) }
            return @note.call("topics", route.to_s, :ok, "#{count} topics match") if count.positive?

            @note.call("topics", route.to_s, :warning, "no topic matches that this user may see; topics without DESCRIBE are not found")
          end

          def describe(names)
            report = @connections.request("the topics of the routes") do |it|
              it.describe_topics(names, include_authorized_operations: true)
            end
            @described = report.topics.to_h { |topic| [topic[:name], topic] }
            usable = @described.reject { |_, topic| topic[:error] }.keys
            @configs = usable.to_h { |name| [name, configs(TOPIC, name)] }
            @ranges = @session.ranges(@session.describe(usable))
          end

          # @return [Hash{String=>String}] empty: this user may not see them
          def configs(type, name)
            report = @connections.request("the settings of #{name}") do |client|
              client.describe_configs([{resource_type: type, resource_name: name.to_s}])
            end
            report.resources.flat_map(&:configs).to_h { |one| [one.name, one.value] }
          rescue AuthorizationError
            {}
          end

          def problems_of_targets
            found = {}
            Broker::TargetCheck.new(@all, @config) { false }.run { |name, _, text| found[name] ||= text.delete_prefix("topic #{name} ") }
            found
          end

          def topic(name, wrong, drifted)
            described = @described.fetch(name)
            refused = Routing::Rights.refusal(:topic, @operations.fetch(name), described[:authorized_operations])
            problem = unusable(described) || refused || wrong[name]
            @note.call("topics", name, :problem, problem, cure: cure(described)) if problem
            return if described[:error] && problem

            warnings = [*weak(described), *retention(name), *compaction(name), *size(name), *future(name)]
            warnings.each { |warning| @note.call("topics", name, :warning, warning) }
            drifted.each { |change| drift(name, change) }
            @note.call("topics", name, :ok, summary(described)) if problem.nil? && warnings.empty? && drifted.empty?
          end

          def drift(name, change)
            reason = " (#{change.reason})" if change.reason
            text = "#{change.name} is #{change.from || "unknown"}, and the routes declare #{change.to}#{reason}"
            @note.call("topics", name, :warning, text, cure: ("guildhall topics apply" if change.possible?))
          end

          def unusable(described)
            case described[:error]&.code
            when nil
              dead = described[:partitions].select { |one| one[:leader].nil? || one[:leader][:host].nil? }.map { |one| one[:partition] }
              "partitions #{dead.join(", ")} have no leader: bring back the brokers that hold their replicas" if dead.any?
            when :unknown_topic_or_part
              "does not exist" unless created?(described[:name])
            when :topic_authorization_failed
              "may not be described: grant DESCRIBE, #{@operations.fetch(described[:name]).join(", ")} on it"
            else described[:error].message
            end
          end

          # By the application, when it starts.
          def created?(name)
            Routing::DeclaredTopic.made(@all).any? { |one| one.name == name }
          end

          def cure(described)
            return unless described[:error]&.code == :unknown_topic_or_part

            declared = Routing::DeclaredTopic.all(@all).any? { |one| one.name == described[:name] }
            declared ? "guildhall topics apply" : "guildhall topics create #{described[:name]} --partitions N"
          end

          def summary(described)
            return "does not exist yet: the application creates it" if described[:error]

            config = @configs.fetch(described[:name])
            kept = config["cleanup.policy"].to_s.include?("delete") ? span(config["retention.ms"]) : nil
            [Printable.count(described[:partitions].size, "partition"), Printable.count(replicas(described), "replica"),
             *(kept && "kept for #{kept}"),
             *("compacted" if config["cleanup.policy"].to_s.include?("compact")),
             *("its payloads are Strings: no route has a deserializer" if undecoded?(described[:name]))].join(", ")
          end

          def undecoded?(name)
            routes = @routes.select { |route| route.match?(name) } # rubocop:disable Style/SelectByRegexp -- no regexp
            routes.any? && routes.all?(&:undecoded?)
          end

          def replicas(described) = described[:partitions].map { |one| one[:replicas].size }.min || 0

          def span(milliseconds)
            seconds = Integer(milliseconds, exception: false).to_i / 1000.0
            return "ever" if seconds.negative?

            unit, name = UNITS.find { |size, _| seconds >= size * 2 } || UNITS.last
            "#{(seconds / unit).round(1).to_s.delete_suffix(".0")} #{name}"
          end

          def weak(described)
            return [] if described[:error]

            lagging = described[:partitions].select { |one| one[:isr].size < one[:replicas].size }.map { |one| one[:partition] }
            least = Integer(@configs.fetch(described[:name])["min.insync.replicas"], exception: false)
            tight = least && least > 1 && least >= replicas(described)
            [*("partitions #{lagging.join(", ")} have replicas that are not in sync" if lagging.any?),
             *("min.insync.replicas is #{least} of #{replicas(described)}: nothing can be produced while one broker is down" if tight)]
          end

          # Messages that are deleted before they are consumed are gone, and nothing else would say so.
          def retention(name)
            config = @configs[name] or return []
            return [] unless config["cleanup.policy"].to_s.include?("delete")

            kept = Integer(config["retention.ms"], exception: false)
            wait = @routes.filter_map { |route| delay(route, name) }.max
            return [] unless kept && kept != NEVER && wait && kept < wait * 2000

            ["messages wait here for #{span(wait * 1000)}, and are deleted after #{span(kept)}: raise retention.ms to #{wait * 2000} at " \
             "least"]
          end

          # @return [Numeric, nil] seconds that messages of the topic wait in it
          def delay(route, name)
            return unless route.name == name && (route.retry_topic? || route.delay_topics)

            name[/(\d+(?:\.\d+)?)\z/]&.to_f&.ceil
          end

          def compaction(name)
            policy = @configs[name]&.fetch("cleanup.policy", nil) or return []
            compacted = policy.include?("compact")
            if @routes.any? { |route| route.name == name && route.scheduled_tasks }
              return compacted ? [] : ["a schedule is kept in a compacted topic: set cleanup.policy=compact"]
            end
            return [] unless compacted && @operations.fetch(name).include?("WRITE")

            ["cleanup.policy is #{policy}: messages without a key are refused, and of a key only the last one is kept"]
          end

          def size(name)
            taken = Integer(@configs.dig(name, "max.message.bytes"), exception: false) or return []
            received = Integer(@config.librdkafka.fetch(:"receive.message.max.bytes", RECEIVE_BYTES), exception: false)
            return [] unless consumed?(name) && received && taken + 512 > received

            ["messages may have #{taken} bytes, more than receive.message.max.bytes (#{received}): raise that"]
          end

          # The brokers do not tell the time; messages do.
          def future(name)
            places = @ranges.select { |(topic, _), range| topic == name && range.is_a?(Range) && range.any? }.keys
            later = Time.now + FUTURE_SECONDS
            found = places.find { |_, partition| @session.offset_at(name, partition, later) } or return []
            ["partition #{found.last} has messages that are dated later than now: the clocks of this machine, of producers or of brokers " \
             "differ, and so do delays and seconds of lag"]
          end

          def groups
            names = @needed.keys.filter_map { |resource, name| name if resource == :group }
            return if names.empty?

            report = @connections.request("the consumer groups") do |client|
              client.describe_consumer_groups(names, include_authorized_operations: true)
            end
            found = report.groups.to_h { |group| [group[:group_id], group] }
            names.each { |name| group(name, found[name]) }
          end

          def group(name, found)
            refused = not_joinable(name, found) and return @note.call("groups", name, :problem, refused)

            routes = @routes.select { |route| route.group == name && route.consumed? && !route.assigned }
            warnings = [*offsets(name, routes), *session_timeout(routes.first)]
            return warnings.each { |warning| @note.call("groups", name, :warning, warning) } if warnings.any?

            @note.call("groups", name, :ok, Printable.count(found ? found[:members].size : 0, "member"))
          end

          def not_joinable(name, found)
            return if found.nil?
            return "may not be described: grant READ on it" if found[:error] && Broker::Errors.kind(found[:error]) == :right

            Routing::Rights.refusal(:group, @needed.fetch([:group, name]), found[:authorized_operations])
          end

          def offsets(name, routes)
            places = @ranges.select { |(topic, _), range| range.is_a?(Range) && routes.any? { |route| route.match?(topic) } }.keys
            answers = @connections.session(name).committed(places).reject { |_, answer| answer.is_a?(KafkaError) }
            committed = answers.transform_values(&:first)
            [*deleted(committed), *skipped(committed, routes)]
          rescue KafkaError
            []
          end

          def deleted(committed)
            lost = committed.select { |place, offset| offset && offset < @ranges[place].begin }
            lost.map do |place, offset|
              "#{@ranges[place].begin - offset} offsets of #{place.join("/")} were deleted before the group has consumed them: raise " \
                "retention.ms, or consume sooner"
            end
          end

          # What a new group leaves out, where its route does not say that this is meant.
          def skipped(committed, routes)
            committed.group_by { |(topic, _), _| topic }.filter_map do |topic, some|
              route = routes.find { |one| one.match?(topic) }
              next if some.any?(&:last) || route.initial_offset || Group::Client.reset_place(@clients.settings(route)) != :latest

              count = some.sum { |place, _| @ranges[place].size }
              next if count.zero?

              "nothing is committed for #{topic}: the group begins at the end, and skips #{Printable.count(count, "message")}; to " \
                "consume them, say initial_offset :earliest in the route (:latest: this is meant)"
            end
          end

          def session_timeout(route)
            settings = @clients.settings(route)
            return [] if settings[:"group.protocol"].to_s == "consumer"

            own = Integer(settings.fetch(:"session.timeout.ms", SESSION_MS), exception: false) or return []
            least, most = broker.values_at("group.min.session.timeout.ms", "group.max.session.timeout.ms").map { |value| value&.to_i }
            return [] if least.nil? || most.nil? || own.between?(least, most)

            ["session.timeout.ms is #{own}, and the brokers allow #{least} to #{most}: the group cannot be joined"]
          end

          # @return [Hash{String=>String}] the settings of one broker; empty: this user may not see them
          def broker
            @broker ||= begin
              id = @connections.client.broker_id(1_000)
              id ? configs(BROKER, id) : {}
            end
          end

          # An id of its own: that of a running producer would end its transaction.
          def transactions
            @needed.each_key do |resource, ids|
              next unless resource == :transactional_id && ids.is_a?(Routing::Rights::Prefix)

              problem = transaction("#{ids.text}guildhall.check")
              @note.call("transactions", ids.text, problem ? :problem : :ok, problem || "transactional ids are accepted")
            end
          end

          def transaction(id)
            settings = Producing::Settings.of(@config, "transactional.id": id)
            limit = broker["transaction.max.timeout.ms"]&.to_i
            own = Integer(settings.fetch(:"transaction.timeout.ms", TRANSACTION_MS), exception: false)
            return "transaction.timeout.ms is #{own}, and the brokers allow #{limit} at most" if limit && own && own > limit

            producer = Producing::TransactionalProducer.new(settings, [], listener: ->(*) {})
            began = Clock.now
            producer.open { Clock.now - began > TRANSACTION_SECONDS }
            nil
          rescue Rdkafka::RdkafkaError => error
            Broker::Errors.explain(error, error.message)
          ensure
            producer&.close
          end
        end
      end
    end
  end
end
