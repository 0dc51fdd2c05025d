# frozen_string_literal: true

require "test_helper"
require_relative "support/scenario_tests"

# Runs every scenario in a process of its own, on the embedded broker, and on a real one where
# KAFKA_BOOTSTRAP_SERVERS names it; several side by side, after all tests that are not run that way.
class KafkaTest < GuildhallTest
  include ScenarioTests

  parallelize_me!

  LIMIT = 180 # seconds
  ScenarioTests.define(self, alone: false)
end
