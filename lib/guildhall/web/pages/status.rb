# frozen_string_literal: true

require_relative "reported"

module Guildhall
  class Web
    module Pages
      # Whether this page, and what it asks, are as they should be: each check that fails has the line that cures it.
      class Status < Page
        include Reported

        LATE_SECONDS = 30 # of the newest report
        SKEW_SECONDS = 10
        private_constant :LATE_SECONDS, :SKEW_SECONDS

        private

        def title = "Status"

        def data
          {checks: [cluster_check, groups_check, application_check, *report_checks], guildhall: VERSION, ruby: RUBY_VERSION,
           process: Process.pid}
        end

        # @return [Hash] ok, what was looked at, and what was found, or what to do
        def check(what)
          {ok: true, what:, found: yield}
        rescue Kafka::KafkaError => error
          {ok: false, what:, found: Printable.valid(error.message)}
        end

        def cluster_check
          check("Brokers") do
            found = cluster.cluster
            brokers = "#{Printable.count(found.brokers.size, "broker")} (#{found.brokers.join(", ")})"
            "#{brokers}, #{Printable.count(found.topics, "topic")}"
          end
        end

        def groups_check
          check("Consumer groups") do
            groups = cluster.groups
            raise groups.problems.first.error if groups.problems.any?

            "#{Printable.count(groups.size, "group")} can be seen"
          end
        end

        # @return [Array<Hash>]
        def report_checks
          missing ? [no_reports] : [ages, versions, skipped, clocks, memory].compact
        end

        # Whether they are wanted, the application's settings say, where there is one.
        def no_reports
          ok = missing[:line] ? @web.application.config.report_settings.nil? : reports.problem.nil?
          {ok:, what: "Reports", found: [missing[:why], *missing[:line]].join(" Add: ")}
        end

        def ages
          live = reports.live
          gaps = live.sum(&:missed)
          {ok: reports.age.to_f <= LATE_SECONDS, what: "Reports",
           found: "#{live.size} #{live.one? ? "process reports" : "processes report"}, the newest is " \
                  "#{Printable.duration(reports.age.to_f.round)} old" \
                  "#{"; #{gaps} have not arrived" if gaps.positive?}"}
        end

        def versions
          found = reports.tally("guildhall")
          others = found.except(VERSION).any?
          said = found.map { |version, count| "#{version} in #{count}" }.join(", ")
          {ok: true, what: "Versions", found: "#{said}; this page: #{VERSION}#{". What only one of them knows is not shown" if others}"}
        end

        def skipped
          said = reports.skipped.map { |why, count| "#{count} #{why}" }
          {ok: said.empty?, what: "Records that could not be used", found: said.empty? ? "none" : said.join(", ")}
        end

        def clocks
          return unless reports.ahead

          {ok: reports.ahead.abs < SKEW_SECONDS, what: "Clocks",
           found: "this machine's and the brokers' differ by #{Printable.duration(reports.ahead.abs)}"}
        end

        def memory
          used = Kafka::Reporting::ProcessMemory.resident.to_i / 1_048_576
          {ok: true, what: "Memory", found: "#{used} MiB for this process, which serves the page"}
        end

        def application_check
          check("Routes") do
            next "none: only what brokers know is shown. With an application: guildhall web -r ./app.rb" if cluster.own_groups.none?

            "#{Printable.count(cluster.routes.size, "route")} of #{Printable.count(cluster.own_groups.size, "group")}"
          end
        end
      end
    end
  end
end
