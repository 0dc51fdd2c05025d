# frozen_string_literal: true

require_relative "../reporting/report_topic"

module Guildhall
  module Kafka
    module Commanding
      # Tells what became of a command, as an event in the topic of reports: by the application's reporter, and without one
      # (`config.reports` is false) by a producer for this record alone. May block for some seconds then.
      # @api private
      class Outcomes
        MAX_LINES = 300 # of `trace`
        CLOSE_SECONDS = 5
        private_constant :MAX_LINES, :CLOSE_SECONDS

        def initialize(application) = @application = application

        # @param outcome [Symbol] :done, :refused or :failed
        # @param trace [Array<String>, nil] of `trace`
        # @yieldparam error [StandardError] why it could not be told
        def tell(command, outcome, reason, trace = nil, &on_error)
          text = "#{command}: #{outcome} (#{command.by}: #{command.why})"
          fields = {command: command.id, action: command.action.name, outcome: outcome.name, reason:, by: command.by, why: command.why,
                    trace: trace&.first(MAX_LINES), **command.target.slice(:group, :topic, :partition)}
          reporter = @application.reporter
          reporter ? reporter.event("outcome", text, **fields) : tell_alone(text, fields, &on_error)
        rescue StandardError => error
          yield error
        end

        private

        def tell_alone(text, fields)
          config = @application.config
          topic = Reporting::ReportTopic.new(config.reports_topic, config) { |problem| yield CommandError.new(problem) }
          return unless topic.ready?

          topic.write({**Reporting::Report.origin(config, @application.process_name), "kind" => "event", "at" => Time.now.to_f.round(3),
                       "name" => "outcome", "text" => text, **fields.transform_keys(&:name)}.compact)
        ensure
          topic&.close(CLOSE_SECONDS)
        end
      end
    end
  end
end
