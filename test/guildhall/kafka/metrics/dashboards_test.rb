# frozen_string_literal: true

require "json"
require "stringio"
require "test_helper"
require "guildhall/kafka/metrics/dashboards"
require "guildhall/cli"

# What is committed is what the list of metrics makes: bin/rake metrics.
class DashboardsTest < GuildhallTest
  ROOT = File.expand_path("../../../..", __dir__)

  def test_each_metric_stands_in_one_row
    assert_equal Guildhall::Kafka::Metrics::LIST.map(&:name).sort, Guildhall::Kafka::Metrics::Dashboards.rows.values.flatten.map(&:name).sort
  end

  %w[grafana datadog].each do |system|
    class_eval(<<~RUBY, __FILE__, __LINE__ + 1)
      def test_#{system}_is_up_to_date  # def test_grafana_is_up_to_date
        assert_committed("#{system}")   #   assert_committed("grafana")
      end
    RUBY
  end

  def test_the_guide_has_the_table
    assert_includes File.read(File.join(ROOT, "docs/kafka_monitoring.md")), printed("markdown")
  end

  def test_each_panel_asks_for_what_prometheus_has
    names = Guildhall::Kafka::Metrics::LIST.map { |metric| Guildhall::Kafka::Metrics::Prometheus.name_of(metric).to_s }
    panels = JSON.parse(printed("grafana"))["panels"].filter_map { |panel| panel["targets"]&.first&.fetch("expr") }
    assert_equal names.sort, panels.map { |expression| expression[/guildhall_[a-z_]+/].delete_suffix("_bucket") }.sort
  end

  # Each process asks the same database.
  def test_what_all_processes_say_is_not_added_up
    shared = Guildhall::Kafka::Metrics::LIST.select(&:shared?)
    assert_equal %w[outbox.messages outbox.seconds outbox.parked batches.open batches.jobs batches.seconds], shared.map(&:name)
    queries = JSON.parse(printed("grafana"))["panels"].filter_map { |panel| panel["targets"]&.first&.fetch("expr") }
    shared.each { |metric| assert_includes queries, "max (#{Guildhall::Kafka::Metrics::Prometheus.name_of(metric)})" }
    assert_includes queries, "sum (guildhall_in_flight_messages)"
    assert_includes printed("datadog"), "max:guildhall.outbox.messages{*}"
  end

  private

  def assert_committed(system)
    assert_equal printed(system), File.read(File.join(ROOT, "docs/dashboards/#{system}.json")), "run bin/rake metrics"
  end

  def printed(format)
    out = StringIO.new
    assert_equal 0, Guildhall::CLI.new(out:).run(["metrics", "--format", format])
    out.string
  end
end
