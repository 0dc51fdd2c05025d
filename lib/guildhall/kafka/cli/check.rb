# frozen_string_literal: true

require_relative "cluster_command"

module Guildhall
  module Kafka
    module CLI
      # `guildhall check`: whether the application can do its work.
      class Check < ClusterCommand
        MARKS = {ok: "ok", warning: "warning", problem: "PROBLEM"}.freeze

        NOTES = <<~TEXT.freeze

          Without an application (--brokers, --profile), only the brokers are checked. Nothing is changed, and no group is
          joined. Warnings are no failure. #{STATUSES}
        TEXT
        private_constant :MARKS, :NOTES

        def self.summary = "Check brokers, login, rights, topics, groups and outbox of the application; name the first step that fails"

        private

        def define_options(options)
          super
          options.separator(NOTES)
        end

        def perform
          require_relative "../admin/check"
          routes = Kafka.routes.any? ? Kafka.application.check!.then { Kafka.application.validate! } : []
          Kafka.application.advice.each { |message| @err.puts("guildhall: warning: #{message}") }
          found = Admin::Check.new(Kafka.application, routes).run { |finding| print_finding(finding) }
          conclude(found)
        end

        def print_finding(finding)
          return print_json(finding.to_h) if @options[:json]

          @out.puts(finding.area) unless finding.area == @area
          @area = finding.area
          @out.puts("  #{MARKS.fetch(finding.status).ljust(7)}  #{finding.name}: #{finding.text}")
          @out.puts("           => #{finding.cure}") if finding.cure
        end

        def conclude(found)
          problems = found.select { |finding| finding.status == :problem }
          unless @options[:json]
            warnings = found.count { |finding| finding.status == :warning }
            sizes = {"check" => found.size, "problem" => problems.size, "warning" => warnings}
            @out.puts("", sizes.map { |noun, size| Printable.count(size, noun) }.join(", "))
            first = problems.first and @out.puts("begin with #{first.area}, #{first.name}")
          end
          problems.empty? ? 0 : 1
        end
      end
    end
  end
end
