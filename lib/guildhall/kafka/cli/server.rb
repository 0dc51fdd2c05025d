# frozen_string_literal: true

require_relative "application_command"

module Guildhall
  module Kafka
    module CLI
      # `guildhall server`: consumes until SIGINT or SIGTERM.
      class Server < ApplicationCommand
        SELECTION = %i[groups topics exclude-groups exclude-topics].freeze

        # (see Guildhall::CLI::Command.summary)
        def self.summary = "Consume the application's topics until SIGINT or SIGTERM"

        private

        def define_options(options)
          super
          options.on("-g", "--groups A,B", Array, "only these consumer groups (default: all)")
          options.on("-t", "--topics A,B", Array, "only these topics (default: all); of a pattern's topics just these")
          options.on("--exclude-groups A,B", Array, "without these consumer groups")
          options.on("--exclude-topics A,B", Array, "without these topics, also of those that a pattern matches")
          options.on("-c", "--concurrency N", Integer, "runner threads, instead of the application's setting")
        end

        def perform
          Kafka.config.concurrency = @options[:concurrency] if @options[:concurrency]
          Kafka.run(**SELECTION.to_h { |name| [name.to_s.tr("-", "_").to_sym, @options[name]] })
        end
      end
    end
  end
end
