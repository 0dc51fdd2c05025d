# frozen_string_literal: true

require_relative "../../broker/target_check"
require_relative "../../producing/transactional_producer"

module Guildhall
  module Kafka
    class Admin
      class Check
        # The topics, groups and transactional ids of routes, at one cluster.
        class Routes
          # Numbers of the Kafka protocol.
          TOPIC = 2
          BROKER = 4
          READ = 3
          WRITE = 4
          FUTURE_SECONDS = 2 # a message that is dated later than this from now: clocks differ
          NEVER = -1 # a retention without an end
          SESSION_MS = 45_000 # librdkafka's default
          TRANSACTION_MS = 60_000 # librdkafka's default
          RECEIVE_BYTES = 100_000_000 # librdkafka's default
          TRANSACTION_SECONDS = 10 # for the brokers to accept a transactional id
          UNITS = [[86_400, "days"], [3_600, "hours"], [60, "minutes"], [1, "seconds"]].freeze
          private_constant(*constants(false))

          # @param note [#call] gets the members of a {Finding}
          def initialize(connections, routes, config, clients, note)
            @connections = connections
            @session = connections.session
            @routes = routes
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
            named, patterns = @routes.partition { |route| !route.pattern? }
            patterns.each { |route| pattern(route, names) }
            matched = patterns.flat_map { |route| names.grep(route).map { |name| route.with(name:) } }
            @consumed = (named.select(&:consumed?) + matched).group_by(&:name)
            targets = @routes.flat_map { |route| Broker::TargetCheck.targets(route).keys }
            produced = named.reject(&:consumed?).map(&:name)
            describe([*@consumed.keys, *targets, *produced].uniq)
            wrong = problems_of_targets
            @described.each_key { |name| topic(name, wrong, targets + produced) }
          end

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
            Broker::TargetCheck.new(@routes, @config) { false }.run { |name, _, text| found[name] ||= text.delete_prefix("topic #{name} ") }
            found
          end

          def topic(name, wrong, targets)
            described = @described.fetch(name)
            problem = unusable(described) || wrong[name] || (not_readable(described) if @consumed.key?(name))
            @note.call("topics", name, :problem, problem, cure: cure(described)) if problem
            return if described[:error] && problem

            warnings = [*weak(described), *retention(name), *compaction(name, targets), *size(name), *future(name)]
            warnings.each { |warning| @note.call("topics", name, :warning, warning) }
            @note.call("topics", name, :ok, summary(described)) if problem.nil? && warnings.empty?
          end

          def unusable(described)
            case described[:error]&.code
            when nil
              dead = described[:partitions].select { |one| one[:leader].nil? || one[:leader][:host].nil? }.map { |one| one[:partition] }
              "partitions #{dead.join(", ")} have no leader: bring back the brokers that hold their replicas" if dead.any?
            when :unknown_topic_or_part
              "does not exist" unless created?(described[:name])
            when :topic_authorization_failed then "may not be described: grant DESCRIBE on it"
            else described[:error].message
            end
          end

          # By the application, when it starts.
          def created?(name)
            @routes.any? { |route| Broker::TargetCheck.targets(route)[name] || (route.name == name && route.scheduled_tasks) }
          end

          def cure(described)
            return unless described[:error]&.code == :unknown_topic_or_part

            "guildhall topics create #{described[:name]} --partitions N"
          end

          def not_readable(described)
            allowed = described[:authorized_operations].to_a
            "may not be consumed: grant READ on it" unless allowed.empty? || allowed.include?(READ)
          end

          def summary(described)
            return "does not exist yet: the application creates it" if described[:error]

            config = @configs.fetch(described[:name])
            kept = config["cleanup.policy"].to_s.include?("delete") ? span(config["retention.ms"]) : nil
            [count(described[:partitions].size, "partition"), count(replicas(described), "replica"), *(kept && "kept for #{kept}"),
             *("compacted" if config["cleanup.policy"].to_s.include?("compact"))].join(", ")
          end

          def replicas(described) = described[:partitions].map { |one| one[:replicas].size }.min || 0

          def count(number, noun) = "#{number} #{noun}#{"s" unless number == 1}"

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

            ["messages wait here for #{wait} s, and are deleted after #{span(kept)}: raise retention.ms to #{wait * 2000} at least"]
          end

          # @return [Numeric, nil] seconds that messages of the topic wait in it
          def delay(route, name)
            return unless route.name == name && (route.retry_topic? || route.delay_topics)

            name[/(\d+(?:\.\d+)?)\z/]&.to_f&.ceil
          end

          def compaction(name, targets)
            policy = @configs[name]&.fetch("cleanup.policy", nil) or return []
            compacted = policy.include?("compact")
            if @routes.any? { |route| route.name == name && route.scheduled_tasks }
              return compacted ? [] : ["a schedule is kept in a compacted topic: set cleanup.policy=compact"]
            end
            return [] unless compacted && targets.include?(name)

            ["cleanup.policy is #{policy}: messages without a key are refused, and of a key only the last one is kept"]
          end

          def size(name)
            taken = Integer(@configs.dig(name, "max.message.bytes"), exception: false) or return []
            received = Integer(@config.librdkafka.fetch(:"receive.message.max.bytes", RECEIVE_BYTES), exception: false)
            return [] unless @consumed.key?(name) && received && taken + 512 > received

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
            by_group = @routes.select { |route| route.consumed? && !route.assigned }.group_by(&:group)
            return if by_group.empty?

            report = @connections.request("the consumer groups") do |client|
              client.describe_consumer_groups(by_group.keys, include_authorized_operations: true)
            end
            found = report.groups.to_h { |group| [group[:group_id], group] }
            by_group.each { |name, routes| group(name, routes, found[name]) }
          end

          def group(name, routes, found)
            refused = not_joinable(found) and return @note.call("groups", name, :problem, refused)

            warnings = [*deleted(name), *session_timeout(routes.first)]
            return warnings.each { |warning| @note.call("groups", name, :warning, warning) } if warnings.any?

            @note.call("groups", name, :ok, count(found ? found[:members].size : 0, "member"))
          end

          def not_joinable(found)
            return if found.nil?
            return "may not be described: grant READ on it" if found[:error] && Broker::Errors.kind(found[:error]) == :right

            allowed = found[:authorized_operations].to_a
            "may not be joined: grant READ on it" unless allowed.empty? || allowed.include?(READ)
          end

          def deleted(name)
            places = @consumed.values.flatten.select { |route| route.group == name }
              .flat_map { |route| @ranges.keys.select { |(topic, _)| topic == route.name } }.uniq
            lost = @connections.session(name).committed(places).filter_map do |place, answer|
              offset = answer.first unless answer.is_a?(KafkaError)
              range = @ranges[place]
              [place.join("/"), range.begin - offset] if offset && range.is_a?(Range) && offset < range.begin
            end
            lost.map do |place, count|
              "#{count} offsets of #{place} were deleted before the group has consumed them: raise retention.ms, or consume sooner"
            end
          rescue KafkaError
            []
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
            @routes.select { |route| route.transactional && !route.pattern? }.each do |route|
              ids = "#{route.group}/#{route.name}/"
              problem = transaction("#{ids}guildhall.check")
              @note.call("transactions", ids, problem ? :problem : :ok, problem || "transactional ids are accepted")
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
