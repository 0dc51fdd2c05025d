# frozen_string_literal: true

require "test_helper"
require_relative "support/scenario_tests"

# Runs every scenario in a process of its own, on the embedded broker, and on a real one where KAFKA_BOOTSTRAP_SERVERS names it.
class KafkaTest < GuildhallTest
  include ScenarioTests

  def self.apart? = true

  LIMIT = 300 # seconds, in which some start a broker of their own
  ScenarioTests.define(self)
end
