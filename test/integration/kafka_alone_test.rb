# frozen_string_literal: true

require "test_helper"
require_relative "support/scenario_tests"

# Runs, one after the other, the scenarios that would disturb those beside them.
class KafkaAloneTest < GuildhallTest
  include ScenarioTests

  LIMIT = 180 # seconds
  ScenarioTests.define(self, alone: true)
end
