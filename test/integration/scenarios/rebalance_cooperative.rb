# frozen_string_literal: true

# broker: real (the embedded one knows no cooperative rebalances)
#
# Proves with the assignment strategy cooperative-sticky what rebalance.rb proves with an eager one.
ENV["STRATEGY"] = "cooperative-sticky"
require_relative "rebalance"
