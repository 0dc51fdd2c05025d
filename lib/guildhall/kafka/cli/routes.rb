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

        # Whatever the server would refuse is an error here; what it would only warn of is a warning.
        def perform
          plans = Kafka.application.check!
          Kafka.application.advice.each { |message| @err.puts("guildhall: warning: #{message}") }
          topics = Kafka.routes.topics
          decoded = topics.to_h { |topic| [topic, plans.find { |one, _| one.group == topic.group && one.name == topic.name }&.last] }
          @options[:json] ? topics.each { |topic| print_json(data(topic, decoded[topic])) } : @out.puts(Kafka.routes.table(topics, decoded))
          nil
        end

        def data(topic, plan)
          {**topic.summary, "decoded_by" => plan&.place&.to_s, "not_on_workers" => plan&.reason}
        end
      end
    end
  end
end
