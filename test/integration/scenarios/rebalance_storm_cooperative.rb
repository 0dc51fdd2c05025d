# frozen_string_literal: true

# broker: real (the embedded one knows no cooperative rebalances)
# everyday: no
# stress: a minute of it
#
# Proves with the assignment strategy cooperative-sticky what rebalance_storm.rb proves with an eager one.
ENV["STRATEGY"] = "cooperative-sticky"
require_relative "rebalance_storm"
