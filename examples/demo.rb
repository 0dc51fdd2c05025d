# frozen_string_literal: true

# The main job: real webhooks through Kafka, decoded, checked and filtered on worker Ractors, then once more by hand.
# Run it with bin/demo; `bin/demo --help` says more.

trap("INT") { exit!(130) } # until there is something to end in order

require "guildhall"
require "guildhall/kafka"
require "guildhall/kafka/testing"
require_relative "demo/options"
require_relative "demo/run"

exit(Demo::Run.new(Demo::Options.parse(ARGV)).call)
