# frozen_string_literal: true

require "tmpdir"
require_relative "own_broker"
require_relative "../../support/names_at_the_end"

# Makes a test of each scenario for each broker. Lines of a scenario's header narrow that down:
#
#     # broker: real | embedded      runs on that broker only
#     # everyday: no                 not in the ordinary suite
#     # everyday: embedded           in the ordinary suite only on that broker
#     # stress: …                    what it does more in the stress run, where LONG=1 asks for that
module ScenarioTests
  SCENARIOS = Dir[File.expand_path("../scenarios/*.rb", __dir__)]
  SUPPORT = File.expand_path("scenario.rb", __dir__)
  REAL = ENV.fetch("KAFKA_BOOTSTRAP_SERVERS", "")
  BROKERS = REAL.empty? ? ["embedded"] : %w[embedded real]

  # @param test [Class] gets the tests
  # @param stress [Boolean] the stress run instead of the ordinary suite
  # @return [void]
  def self.define(test, stress: false)
    SCENARIOS.each do |path|
      name = File.basename(path, ".rb")
      header = header(path)

      brokers(header, stress).each do |broker|
        test.class_eval(<<~RUBY, __FILE__, __LINE__ + 1)
          def test_#{name}_on_#{broker}_broker                           # def test_order_on_embedded_broker
            run_scenario(#{path.inspect}, #{broker.inspect}, #{stress})  # ...
          end
        RUBY
      end
    end
  end

  # @return [Hash{String=>Array<String>}]
  def self.header(path)
    lines = File.foreach(path).take_while { |line| line.start_with?("#") || line.strip.empty? }
    lines.filter_map { |line| line[/^# (broker|everyday|stress): (.*)/] && [::Regexp.last_match(1), ::Regexp.last_match(2)[/\A[^(]*/].split] }.to_h
  end

  # @return [Array<String>]
  def self.brokers(header, stress)
    return [] if stress ? !header.key?("stress") : header["everyday"] == ["no"]

    BROKERS.intersection(*header.values_at("broker", *("everyday" unless stress)).compact)
  end
  private_class_method :header, :brokers

  private

  def run_scenario(path, broker, stress)
    Dir.mktmpdir("scenario") do |folder|
      environment = {"KAFKA_BOOTSTRAP_SERVERS" => broker == "real" ? REAL : "", "LONG" => stress ? "1" : nil, "SCENARIO_FOLDER" => folder,
                     "SCENARIO_LIMIT" => (self.class::LIMIT - 15).to_s} # so that it says itself what it waits for
      out, err, status = run_forked([SUPPORT], path, timeout: self.class::LIMIT, env: environment)
      assert_predicate status, :success?, "#{status}\n#{out}\n#{err}"
      assert_match(/^ok/, out)
    ensure
      OwnBroker.end_in(folder) # of a scenario that was killed
    end
  end
end
