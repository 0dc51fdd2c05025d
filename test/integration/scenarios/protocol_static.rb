# frozen_string_literal: true

# broker: real (one of its own: the brokers decide the session of this protocol's members)
# everyday: no
# stress: all of it
#
# Proves with the consumer protocol (KIP-848) what static_membership.rb proves with the classic one.
ENV["PROTOCOL"] = "consumer"
ENV["SESSION"] = "30000" # a process that is started again must be back by then
require_relative "static_membership"
