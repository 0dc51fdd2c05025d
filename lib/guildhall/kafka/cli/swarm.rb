# frozen_string_literal: true

require_relative "server"

module Guildhall
  module Kafka
    module CLI
      # `guildhall swarm`: `guildhall server` in several processes.
      class Swarm < Server
        # (see Guildhall::CLI::Command.summary)
        def self.summary = "Consume the application's topics in several processes until SIGINT or SIGTERM"

        private

        def define_options(options)
          super
          options.on("-p", "--processes N", Integer, "how many (default: one for each core)")
          options.on("--memory-limit MB", Float, "a process with more resident memory is replaced (default: none)")
        end

        def consume(**selection)
          Kafka.swarm(processes: @options[:processes], memory_limit: @options[:"memory-limit"], **selection)
        end
      end
    end
  end
end
