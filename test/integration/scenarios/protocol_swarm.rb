# frozen_string_literal: true

# broker: real (one of its own: the brokers decide the session of this protocol's members)
# everyday: no
# stress: all of it
#
# Proves with the consumer protocol (KIP-848) what swarm.rb proves with the classic one.
ENV["PROTOCOL"] = "consumer"
require_relative "swarm"
