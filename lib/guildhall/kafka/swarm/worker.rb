# frozen_string_literal: true

require "guildhall/error_boundary"
require "guildhall/json"
require "guildhall/pool"
require_relative "../health"
require_relative "../server"
require_relative "child_process"

module Guildhall
  module Kafka
    class Swarm
      # One process of a {Swarm}, from the inside: a {Server} that reports to the parent and obeys it.
      class Worker
        # @param signals [Thread::Queue] names of signals that have come since it was forked
        # @param memory_limit [Numeric, nil] MiB beyond which the parent replaces it
        def initialize(application, number, processes, signals, memory_limit = nil)
          @application = application
          @number = number
          @processes = processes
          @signals = signals
          @memory = {processes:, own: memory_limit && (memory_limit * ChildProcess::MEBIBYTE).to_i}
        end

        # Blocks until the application has stopped.
        # @return [Integer] the exit status; {ConfigurationError::EXIT_STATUS} where no other process could start either
        def run(socket, selection)
          distinguish
          server = Server.new(@application, warm_up: false, signals: @signals, memory: @memory)
          health = Health.new(@application)
          ParentLink.new(socket, server, health, method(:other_ended)) { |error| @application.error(error, "health") }.start
          @application.publish("swarm.forked", number: @number)
          server.run(**selection)
        rescue ConfigurationError => error
          @application.error(error, "start")
          ConfigurationError::EXIT_STATUS
        end

        private

        # Changes what several processes cannot share.
        def distinguish
          Process.setproctitle("guildhall swarm: process #{@number}")
          ENV.delete("NOTIFY_SOCKET") # the parent speaks to systemd
          @application.process_number = @number
          config = @application.config
          config.health = {**config.health, port: config.health[:port] + @number} if config.health && config.health[:port].positive?
          workers = Pool::Settings.default_workers
          @application.workers = [workers / @processes, 1].max unless workers.zero?
        end

        def other_ended(details)
          text = "process #{details["number"]} of the swarm (pid #{details["pid"]}) has ended: #{details["status"]}"
          @application.reporter&.event("process_ended", text, host: ProcessName.host, **details.transform_keys(&:to_sym))
        end

        # Ties a process to the parent that has forked it: it says every second how it is, does what the parent asks, and reports how others
        # have ended. When the parent is gone, it stops in order.
        class ParentLink
          HEARTBEAT_SECONDS = 1
          # live and ready, where that cannot be found out: the parent kills a process that says nothing.
          UNKNOWN = JSON.encode([[], ["its health cannot be found out"]]).freeze
          private_constant :HEARTBEAT_SECONDS, :UNKNOWN

          # @param other_ended [#call] gets how another process of the swarm has ended
          def initialize(socket, server, health, other_ended, &on_error)
            @socket = socket
            @server = server
            @health = health
            @other_ended = other_ended
            @on_error = on_error
          end

          def start
            {"heartbeat" => method(:beat), "orders" => method(:obey)}.each do |name, work|
              Thread.new(&work).tap { |thread| thread.name = "guildhall swarm #{name}" }
            end
            self
          end

          private

          def beat
            loop do
              report = ErrorBoundary.run(@on_error) { report(@health.live, @health.ready) }
              @socket.write("#{report || UNKNOWN}\n")
              sleep(HEARTBEAT_SECONDS)
            end
          rescue SystemCallError, IOError
            nil # the other thread notices that the parent is gone
          end

          def report(*answers) = JSON.encode(answers.map { |answer| answer.problems.map(&:to_s) })

          def obey
            while (order = @socket.gets(chomp: true))
              case order
              when ChildProcess::END_NOW then @server.end_now
              when ChildProcess::STOP then @server.stop_soon
              else @other_ended.call(JSON.decode(order.delete_prefix(ChildProcess::ENDED)))
              end
            end
          rescue SystemCallError, IOError
            nil # the parent is gone
          ensure
            @server.stop_soon
          end
        end
      end
    end
  end
end
