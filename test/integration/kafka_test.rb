# frozen_string_literal: true

require "test_helper"
require_relative "support/scenario_tests"

# Runs every scenario in a process of its own, with both readers, on the embedded broker, and on a real one where
# KAFKA_BOOTSTRAP_SERVERS names it.
class KafkaTest < GuildhallTest
  include ScenarioTests

  LIMIT = 180 # seconds
  ScenarioTests.define(self)
end
