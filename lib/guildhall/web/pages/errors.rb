# frozen_string_literal: true

require_relative "reported"

module Guildhall
  class Web
    module Pages
      # Errors of a day by cause: their class, and the place in the code where they are raised.
      class Errors < Page
        include Reported

        private

        def title = "Errors"

        def data
          rows = reports.causes.map { |cause| cause_row(cause) }
          found = narrow(rows) { |row| [*row.values_at(:class, :place, :message, :release), *row[:places].flat_map(&:values)] }
          {missing:, **paged(found, rows.size), since: reports.causes.map(&:first).min, minutes: errors}
        end

        def errors = reports.any? ? reports.series["errors"] : []
      end

      # One cause.
      class Cause < Page
        include Reported

        private

        def crumbs = {"Errors" => ["errors"]}
        def title = cause&.record&.fetch("class", nil) || "Error"
        def cause = @cause ||= reports.cause(names.fetch(:fingerprint))

        def data
          {missing:, fingerprint: names.fetch(:fingerprint), found: !cause.nil?, numbers: numbers?, **(cause ? whole : {})}
        end

        def whole
          record = cause.record
          {row: cause_row(cause), backtrace: record["backtrace"] || [], releases: cause.releases, processes: cause.processes,
           history: cause.series(reports.now),
           samples: cause.samples.map { |sample| quotes?(sample.topic) ? sample.to_h : sample.to_h.except(:message) }}
        end
      end
    end
  end
end
