# frozen_string_literal: true

require "test_helper"

# Runs every scenario in a process of its own, with both readers, on the embedded broker, and on a real one where
# KAFKA_BOOTSTRAP_SERVERS names it.
class KafkaTest < GuildhallTest
  SCENARIOS = Dir[File.expand_path("scenarios/*.rb", __dir__)]
  REAL = ENV.fetch("KAFKA_BOOTSTRAP_SERVERS", "")
  LIMIT = 120 # seconds

  SCENARIOS.each do |path|
    name = File.basename(path, ".rb")
    header = File.foreach(path).take_while { |line| line.start_with?("#") || line.strip.empty? }.join
    brokers = header.match?(/^# broker: real/) ? [] : ["embedded"]
    brokers << "real" unless REAL.empty? || header.match?(/^# broker: embedded/)
    readers = header.match?(/^# reader: native/) ? ["native"] : %w[native ffi]

    brokers.product(readers).each do |broker, reader|
      class_eval(<<~RUBY, __FILE__, __LINE__ + 1)
        def test_#{name}_on_#{broker}_broker_with_#{reader}_reader     # def test_order_on_embedded_broker_with_ffi_reader
          run_scenario(#{path.inspect}, #{broker.inspect}, #{reader.inspect}) # ...
        end
      RUBY
    end
  end

  private

  def run_scenario(path, broker, reader)
    environment = {"KAFKA_BOOTSTRAP_SERVERS" => broker == "real" ? REAL : "", "READER" => reader}
    out, err, status = run_command([RbConfig.ruby, path], timeout: LIMIT, env: environment)
    assert_predicate status, :success?, "#{status}\n#{out}\n#{err}"
    assert_match(/^ok/, out)
  end
end
