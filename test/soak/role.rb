# frozen_string_literal: true

require "json"
require "guildhall/kafka"
require "guildhall/json"
require_relative "plan"

module Soaking
  # What the processes of a soak have in common: the settings, the topics and the journal, which SOAK has.
  module Role
    GIVEN = JSON.parse(ENV.delete("SOAK"), symbolize_names: true).freeze
    NAME = GIVEN.fetch(:name)
    TOPICS = Plan.topics(GIVEN.fetch(:run)).freeze
    JOURNAL = File.open(GIVEN.fetch(:journal), File::WRONLY | File::APPEND)

    module_function

    # One write, so that lines of several processes never mix.
    def note(*words) = JOURNAL.syswrite("#{words.join(" ")}\n")

    # The soak may be killed, too.
    def end_with_parent
      Thread.new do
        $stdin.read
        Process.kill(:KILL, Process.pid)
      end
    end

    def configure
      Guildhall::Kafka.configure do |config|
        config.kafka = GIVEN.fetch(:kafka)
        yield config if block_given?
      end
    end
  end
end
