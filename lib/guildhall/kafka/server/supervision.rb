# frozen_string_literal: true

require_relative "../health"

module Guildhall
  module Kafka
    class Server
      # Answers those that watch a server process: HTTP probes if `config.health` is set, systemd if it started the process.
      class Supervision
        def initialize(application)
          @application = application
          @parts = []
        end

        # @raise [ConfigurationError] naming the gem that is missing, or why the port cannot be listened on
        def start
          @parts << http if @application.config.health
          @parts << systemd if ENV.key?("NOTIFY_SOCKET")
          self
        end

        def stop
          @parts.each(&:stop)
        end

        private

        # Made where somebody asks, because it listens to the application.
        def health = @health ||= Health.new(@application)

        def http
          settings = @application.config.health
          require_relative "../health/server"
          Health::Server.new(settings, health, @application.config.metrics).start
        rescue MissingDependencyError, SystemCallError, SocketError => error
          raise ConfigurationError, "config.health #{settings}: #{error.message}"
        end

        def systemd
          Kafka::Systemd.new(@application, health).start
        end
      end
    end
  end
end
