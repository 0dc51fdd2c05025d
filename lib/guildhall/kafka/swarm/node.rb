# frozen_string_literal: true

require "guildhall/pool"
require_relative "../health"
require_relative "../server"
require_relative "link"

module Guildhall
  module Kafka
    class Swarm
      # What a process of the swarm does: it runs a {Server}, tied to its parent by a {Link}.
      class Node
        # Exit status: the application cannot be started as it is configured, by another process neither.
        CONFIGURATION = ConfigurationError::EXIT_STATUS

        # @param application [Application] that has not been started
        # @param number [Integer] of this process, from 1
        # @param processes [Integer] that there are
        # @param signals [Thread::Queue] names of signals that have come since it was forked
        def initialize(application, number, processes, signals)
          @application = application
          @number = number
          @processes = processes
          @signals = signals
        end

        # Blocks until the application has stopped.
        # @return [Integer] the exit status
        def run(socket, selection)
          distinguish
          server = Server.new(@application, warm_up: false, signals: @signals)
          Link.new(socket, server, Kafka::Health.new(@application)).start
          @application.publish("swarm.forked", number: @number)
          server.run(**selection)
        rescue ConfigurationError => error
          @application.error(error, "start")
          CONFIGURATION
        end

        private

        # What several processes cannot share.
        def distinguish
          Process.setproctitle("guildhall swarm: process #{@number}")
          ENV.delete("NOTIFY_SOCKET") # the parent speaks to systemd
          @application.process_number = @number
          config = @application.config
          config.health = {**config.health, port: config.health[:port] + @number} if config.health && config.health[:port].positive?
          workers = Pool::Settings.default_workers
          @application.workers = [workers / @processes, 1].max unless workers.zero?
        end
      end
    end
  end
end
