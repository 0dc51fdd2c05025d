# frozen_string_literal: true

module Guildhall
  # For libraries that an application has anyway: Rails, Active Job, systems of metrics. Each is loaded when it is named, or where its
  # library is there; none requires what the application has not.
  module Adapters
    autoload :OpenTelemetry, File.expand_path("adapters/open_telemetry", __dir__)
    autoload :Prometheus, File.expand_path("adapters/prometheus", __dir__)
    autoload :StatsD, File.expand_path("adapters/statsd", __dir__)
    autoload :Systemd, File.expand_path("adapters/systemd", __dir__)
  end
end
