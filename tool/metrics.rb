# frozen_string_literal: true

# Writes what is made of the list of metrics: the dashboards, and the table in docs/kafka_monitoring.md. Run it with: bin/rake metrics
require "guildhall/kafka"
require "guildhall/kafka/metrics/dashboards"

docs = File.expand_path("../docs", __dir__)
dashboards = Guildhall::Kafka::Metrics::Dashboards
%w[grafana datadog].each { |system| File.write("#{docs}/dashboards/#{system}.json", "#{dashboards.public_send(system)}\n") }
guide = File.read("#{docs}/kafka_monitoring.md")
File.write("#{docs}/kafka_monitoring.md", guide.sub(/^\| metric \| type .*\n(?:\|.*\n)*/) { "#{dashboards.markdown}\n" })
