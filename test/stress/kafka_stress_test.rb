# frozen_string_literal: true

require "test_helper"
require_relative "../integration/support/scenario_tests"

# Runs the long form of every scenario that has one.
class KafkaStressTest < GuildhallTest
  include ScenarioTests

  LIMIT = 1800 # seconds
  ScenarioTests.define(self, stress: true)
end
