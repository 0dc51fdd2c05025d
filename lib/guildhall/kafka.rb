# frozen_string_literal: true

require "guildhall"
require_relative "kafka/errors"
require_relative "kafka/application"
require_relative "kafka/consumer"
require_relative "kafka/delaying"
require_relative "kafka/producer"
require_relative "kafka/server"
require_relative "kafka/swarm"

module Guildhall # rubocop:disable Style/Documentation -- in guildhall.rb
  autoload :Outbox, File.expand_path("kafka/outbox", __dir__)

  # Consumes Kafka: routing, consumers, offsets, retries; payloads are decoded by the reader or on the pool's workers.
  #
  #     Guildhall::Kafka.configure { |config| config.kafka = {"bootstrap.servers": "localhost:9092"} }
  #     Guildhall::Kafka.routes { topic("orders") { consumer OrdersConsumer } }
  #     Guildhall::Kafka.run
  #
  # Everything here belongs to the main Ractor and may be called by any of its threads.
  module Kafka
    autoload :Development, File.expand_path("kafka/development", __dir__)
    autoload :ErrorTracking, File.expand_path("kafka/error_tracking", __dir__)
    autoload :Metrics, File.expand_path("kafka/metrics", __dir__)
    autoload :Outbox, File.expand_path("kafka/outbox", __dir__)
    autoload :Systemd, File.expand_path("kafka/systemd", __dir__)

    @application = Application.new

    class << self
      # The application of this process.
      attr_reader :application

      # @raise [ApplicationStateError] after the first start
      def configure
        raise ApplicationStateError, "settings are fixed after the start: call Guildhall::Kafka.reset first" if application.config.frozen?

        yield application.config
        application.config
      end

      def config
        application.config
      end

      # With a block, adds routes to the application; they are checked when it starts.
      # @raise [ApplicationStateError] with a block while the application runs, which would not see it
      def routes(&block)
        raise ApplicationStateError, "routes are read at the start: draw them before it, or stop first" if block && application.started?

        application.routes.draw(&block) if block
        application.routes
      end

      # Starts to consume in threads of its own and returns: for use inside a script or a web server.
      # @param groups [Array<String>, nil] only these consumer groups; nil: all
      # @param topics [Array<String>, nil] only these topics; nil: all
      # @param exclude_groups [Array<String>, nil] without these
      # @param exclude_topics [Array<String>, nil] without these
      # @raise [ConfigurationError] listing every error of configuration and routes
      # @raise [ApplicationStateError] while a command loads the application
      def start(groups: nil, topics: nil, exclude_groups: nil, exclude_topics: nil)
        refuse_while_loading!("start")
        application.start(groups:, topics:, exclude_groups:, exclude_topics:)
      end

      # Finishes the work in progress, commits and leaves the group.
      # @param timeout [Numeric, nil] seconds; nil: `config.shutdown_timeout`
      # @return [Boolean] whether all work in progress was finished; false for a consumer, which does not wait for itself
      def stop(timeout: nil)
        application.stop(timeout:)
      end

      # Consumes until SIGINT or SIGTERM: what `guildhall server` does. A second signal, or the end of
      # `config.shutdown_timeout`, ends the process at once.
      # @param selection [Hash{Symbol=>Array<String>, nil}] as in {.start}
      # @return [Integer] the exit status
      def run(**selection)
        refuse_while_loading!("run")
        Server.new(application).run(**selection)
      end

      # Consumes in several processes until SIGINT or SIGTERM: what `guildhall swarm` does. The application must not have been started.
      # @param processes [Integer, nil] nil: one for each core
      # @param memory_limit [Numeric, nil] MiB of resident memory, beyond which a process is replaced; nil: none
      # @param selection [Hash{Symbol=>Array<String>, nil}] as in {.start}
      # @return [Integer] the exit status
      # @raise [ConfigurationError] listing every error of configuration and routes
      def swarm(processes: nil, memory_limit: nil, **selection)
        refuse_while_loading!("swarm")
        Swarm.new(application, processes:, memory_limit:).run(**selection)
      end

      def producer
        application.producer
      end

      # (see Application::Queries#each_message)
      def each_message(...)
        application.each_message(...)
      end

      # What is in a topic, for consoles: `messages("orders").last(5)`. Nothing is read before a method of it is called.
      # @param partitions [Array<Integer>, Integer, nil] nil: all
      # @return [Broker::TopicMessages]
      def messages(topic, partitions: nil)
        require_relative "kafka/broker/topic_messages"
        Broker::TopicMessages.new(application, topic, partitions)
      end

      # (see Application::Queries#search)
      def search(...)
        application.search(...)
      end

      # (see Application::Queries#admin)
      def admin(...)
        application.admin(...)
      end

      # (see Application#commander)
      def commander(...)
        application.commander(...)
      end

      # @return [Instrumentation] see {Events}
      def instrumentation
        application.instrumentation
      end

      # A new application without settings and routes, for tests and for starting again.
      # @param numbers [Hash{Symbol=>Numeric}] see {Application#initialize}
      # @raise [ApplicationStateError] while the present one runs
      def reset(**numbers)
        raise ApplicationStateError, "stop the application first" if application.started?

        @application = Application.new(**numbers)
      end

      # Loads an application's file for a command, which wants its settings and routes: nothing may start to consume meanwhile.
      # @!visibility private
      def load_application(file)
        @loading = true
        require file
      ensure
        @loading = false
      end

      private

      def refuse_while_loading!(name)
        return unless @loading

        raise ApplicationStateError, "Guildhall::Kafka.#{name} is called while a command loads the application: leave it to `guildhall " \
                                     "server`, or add `if $PROGRAM_NAME == __FILE__` to its line"
      end
    end
  end
end
