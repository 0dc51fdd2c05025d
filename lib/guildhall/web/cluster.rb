# frozen_string_literal: true

require "monitor"
require "guildhall/clock"
require "guildhall/kafka/dead_letter_queue/letter_topics"

module Guildhall
  class Web
    # What the brokers say, for pages: asked one question after the other, by clients that stay connected, and only while somebody looks.
    # Any thread.
    # @api private
    class Cluster
      # How many questions for lag it stays connected for: that for all groups of the application, and one for each group that was looked at
      # last. Each takes a client of its own.
      GROUPS = 8
      BATCHES = 100 # of jobs, that are shown
      NO_BROKER = "The embedded broker of development cannot answer the dashboard: start a broker (docker compose -f compose.kafka.yaml " \
                  "up -d kafka) and set KAFKA_BOOTSTRAP_SERVERS=localhost:9092"
      # For which brokers that have not answered are not asked again: to ask takes as long, and nobody else is answered meanwhile.
      SILENT_SECONDS = 12
      private_constant :GROUPS, :BATCHES, :NO_BROKER, :SILENT_SECONDS

      def initialize(application)
        @application = application
        @process = Process.pid
        @reports = Reports.new(application)
        @lock = Monitor.new
        @answers = {}
        @silence = nil # that brokers did not answer the last question, and when
        @watches = {}
        at_exit { close } # by itself a client with a request that nobody has answered keeps the process from ending
      end

      # @return [Boolean] whether this is the one for an application, in this process: clients of librdkafka do not survive a fork
      def serves?(application) = @application.equal?(application) && @process == Process.pid

      # @return [Array<Kafka::Routing::Topic>] empty: there is no application, or it has none
      def routes = @routes ||= @application.routes.topics.any? ? @application.validate! : [].freeze

      # @return [Array<Kafka::Routing::Topic>] those that consume a topic
      def routes_of(name) = routes.select { |route| route.match?(name) } # rubocop:disable Style/SelectByRegexp -- no regexp

      # @return [Boolean] whether a route says how a topic's payloads are decoded
      def decoded?(name) = routes_of(name).any?(&:deserializer) || !letter_codec(name).nil?

      # @return [Kafka::DeadLetterQueue::LetterTopics]
      def letter_topics = @letter_topics ||= Kafka::DeadLetterQueue::LetterTopics.new(routes)

      # @return [Array<String>] the application's groups
      def own_groups = routes.map(&:group).uniq

      # @return [Kafka::Broker::Answer] of {Kafka::Admin::Groups::Group}s: all
      def groups = remember(:groups) { admin.groups.list }

      # @return [Kafka::Admin::Groups::Group]
      # @raise [Kafka::UnknownGroupError]
      def group(name) = groups.find { |group| group.name == name } || remember([:group, name]) { admin.groups[name] }

      # How far groups are behind: those of the application, or one of any.
      # @param group [String, nil] nil: all of the application; none, where it has no groups
      # @return [Kafka::Broker::Answer] of {Kafka::Broker::LagWatch::Row}s
      def lag(group = nil)
        remember([:lag, group]) { group || own_groups.any? ? watch(group).look : Kafka::Broker::Answer.new([], []) }
      end

      # @return [Array<Kafka::Admin::Topics::Topic>] without offsets
      def topics = remember(:topics) { admin.topics.list }

      # @return [Kafka::Admin::Topics::Topic] with offsets and settings
      # @raise [Kafka::UnknownTopicError]
      def topic(name) = remember([:topic, name]) { admin.topics.describe(name) }

      # @return [Kafka::Admin::Cluster]
      def cluster = remember(:cluster) { admin.cluster }

      # @return [Kafka::Broker::Answer] of {Kafka::Broker::GroupOffsets::Row}s of a group in one topic
      def offsets(group, topic) = remember([:offsets, group, topic]) { admin.offsets.of(group, topics: [topic]) }

      # @return [Array] of the application's scheduled tasks
      def tasks = remember(:tasks) { routes.any?(&:scheduled_tasks) ? @application.scheduled_tasks : [] }

      # @return [Array<Kafka::ActiveJob::Batch>] those of the database of this process that have not finished, the oldest first; empty: the
      #   application has no batches of jobs, or they are not known here
      def batches = batches? ? Kafka::ActiveJob::Batch.order(:id).limit(BATCHES).to_a : []

      # @return [Kafka::ActiveJob::Batch, nil] nil: it has finished, or there was none
      def batch(id) = (Kafka::ActiveJob::Batch.find_by(id:) if batches?)

      # @param hours [Integer] of minutes that are wanted
      # @return [Reports::View] of processes' reports; while brokers do not answer, of the last ones
      def reports(hours: 1) = @reports.view(hours:).then { |view| @silence ? view.as_reported : view }

      # @return [String] the topic that they write to
      def reports_topic = @reports.topic

      # @param commander [Kafka::Commanding::Commander]
      # @return [Array<Kafka::Commanding::Commander::Sent>] the newest first
      def commands(commander) = remember(:commands) { commander.sent }

      # What moving a partition of a group would do.
      # @return [Kafka::Admin::Offsets::Step]
      def seek_plan(group, topic, partition, **place)
        remember([:seek, group, topic, partition, place]) do
          admin.offsets.plan(group, topics: [topic], partitions: [partition], **place).steps.first
        end
      end

      # What is asked next is answered anew: something has been done.
      def forget
        @lock.synchronize do
          @answers.clear
          @silence = nil
        end
      end

      # Looks for messages; neither the brokers' other answers wait for that, nor are they kept.
      # Dead letters are decoded as the routes of the topics say that they are from, unless their topic has a route that does.
      # @return [Kafka::Broker::Search]
      def search(topic, deserializer: nil, **)
        deserializer = letter_codec(topic) if deserializer.nil? && routes_of(topic).none?(&:deserializer)
        @application.search(topic, deserializer:, **)
      end

      # @yieldparam dead_letters [Kafka::Broker::DeadLetters]
      def dead_letters(name, &) = @application.dead_letters(name, &)

      # Blocks for some seconds at most. In a forked process there is nothing to be closed: the clients are the parent's.
      def close
        @lock.synchronize do
          [*@watches.values, *@admin, @reports].each(&:close) if @process == Process.pid
          @watches = {}
          @admin = nil
        end
      end

      private

      # Pages do without a database that does not answer.
      def batches?
        @application.config.outbox && Kafka::Outbox.batches?
      rescue ::ActiveRecord::ActiveRecordError
        false
      end

      # Each question to the embedded broker would wait ten seconds for an answer that does not come.
      def admin
        servers = @application.config.librdkafka[:"bootstrap.servers"]
        raise ConfigurationError, NO_BROKER if servers.respond_to?(:for_development?)

        @admin ||= @application.admin
      end

      def letter_codec(name) = LetterCodec.of(name, routes)

      # What is not fresh any more goes: nobody looks at it. That brokers do not answer, is an answer to all questions: else each request
      # that has waited here would wait for them once more.
      def remember(key)
        @lock.synchronize do
          @answers.delete_if { |_, (_, at)| stale?(at) }
          error, at = @silence
          raise error if error && !stale?(at, SILENT_SECONDS)

          value, = @answers.fetch(key) { @answers[key] = ask { yield } } # rubocop:disable Style/ExplicitBlockArgument -- in a block
          value
        end
      end

      # @return [Array(Object, Float)] the answer, and when it came
      def ask
        answer = yield
        @silence = nil
        [answer, Clock.now]
      rescue Kafka::UnreachableError => error
        @silence = [error, Clock.now]
        raise
      end

      def stale?(at, seconds = FRESH_SECONDS) = Clock.now - at > seconds

      def watch(group)
        found = @watches.delete(group) || (group ? watch_of(group) : @application.lag_watch)
        @watches.shift.last.close if @watches.size >= GROUPS
        @watches[group] = found
      end

      def watch_of(group)
        return @application.lag_watch(groups: [group]) if own_groups.include?(group)

        Kafka::Broker::LagWatch.new([Kafka::Broker::Lag.new(@application.group_settings(group))])
      end
    end
  end
end
