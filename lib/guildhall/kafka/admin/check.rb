# frozen_string_literal: true

require_relative "../admin"
require_relative "../application/clients"
require_relative "../outbox_check"
require_relative "../routing/rights"
require_relative "check/connection"
require_relative "check/routes"

module Guildhall
  module Kafka
    class Admin
      # Whether an application can do its work on its clusters: from the brokers' names over TLS and the login to each topic and group of
      # the routes. It changes nothing, and joins no group.
      class Check
        # One thing that was looked at.
        #
        # - area: "brokers", "cluster", "topics", "groups", "transactions", "registries", "outbox"
        # - status: :ok, :warning (it works, and will not for ever, or not as one would think) or :problem
        # - cure: a command, or a line of the settings, that mends it; nil where the text says it, or nothing has to be done
        Finding = Data.define(:area, :name, :status, :text, :cure) do
          def initialize(cure: nil, **) = super
          def to_h = super.transform_keys(&:to_s).merge("status" => status.to_s)
        end

        # @param application [Application]
        # @param routes [Array<Routing::Topic>] whose topics and groups are looked at; empty: only the brokers
        def initialize(application, routes)
          @application = application
          @routes = routes
          @clients = Application::Clients.new(application.config)
        end

        # Blocks for the brokers' answers: some seconds for each that does not answer.
        # @yieldparam finding [Finding] as it is found
        # @return [Array<Finding>] all of them
        def run(&)
          found = []
          note = lambda do |*arguments, **more|
            finding = Finding.new(**%i[area name status text].zip(arguments).to_h, **more)
            found << finding
            yield finding if block_given?
          end
          clusters.each { |settings, routes, needed| check(settings, routes, needed, note) }
          registries(note)
          outbox(note)
          found
        end

        private

        # The application's settings, and those of routes, or of its producer, with other brokers or another login.
        # @return [Array<Array(Hash, Array<Routing::Topic>, Hash)>] a client's settings, the routes that it consumes, and the rights that it
        #   needs
        def clusters
          own = {"client.id": @application.config.client_id, **@application.config.librdkafka}
          found = @routes.group_by { |route| Connection.of({**own, **route.kafka}) }
          rights = Routing::Rights.new(@routes, @application.config) { |route| {**own, **route.kafka} }
          producer = Connection.of(Producing::Settings.of(@application.config)) if @routes.any?
          [Connection.of(own), producer, *found.keys].compact.uniq.map do |connection|
            needed = rights.needed { |settings| Connection.of(settings) == connection }
            [{**own, **connection}, found.fetch(connection, []), needed]
          end
        end

        def check(settings, routes, needed, note)
          Connections.open(settings) do |connections|
            next unless Connection.new(connections, note).run && needed.any?

            Routes.new(connections, routes, needed, @routes, @application.config, @clients, note).run
          end
        end

        # Also of an application without routes.
        def outbox(note)
          problems = OutboxCheck.problems(@application.config, load_jobs: true) or return
          problems.each { |problem| note.call("outbox", problem.name, :problem, problem.text, cure: problem.cure) }
          note.call("outbox", "tables", :ok, "are there, and have all columns") if problems.empty?
        end

        def registries(note)
          Reachability::Registries.of(@routes).each do |registry|
            registry.check!
            note.call("registries", registry.url, :ok, "answers")
          rescue Guildhall::Error => error
            note.call("registries", registry.url, :problem, error.message)
          end
        end
      end
    end
  end
end
