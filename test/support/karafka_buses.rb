# frozen_string_literal: true

# Where Karafka's monitors may publish their events.
module KarafkaBuses
  # One without subscribers.
  module Silent
    def self.subscribe(*) = nil
    def self.unsubscribe(*) = nil
    def self.instrument(*) = nil
  end
end
