# frozen_string_literal: true

require_relative "application_command"

module Guildhall
  module Kafka
    module CLI
      # `guildhall routes`: prints what is consumed by whom.
      class Routes < ApplicationCommand
        # (see Guildhall::CLI::Command.summary)
        def self.summary = "Check the application's settings and routes; print its consumer groups, topics and consumers"

        private

        def define_options(options)
          super
          options.on("--json", "a line of JSON for each topic or pattern")
        end

        # Wrong settings and routes are errors here as they are when the application starts; what it would only warn of is a warning.
        def perform
          topics = Kafka.application.validate!
          Kafka.application.advice.each { |message| @err.puts("guildhall: warning: #{message}") }
          @options[:json] ? topics.each { |topic| print_json(topic.summary) } : @out.puts(Kafka.routes.to_s)
          nil
        end
      end
    end
  end
end
