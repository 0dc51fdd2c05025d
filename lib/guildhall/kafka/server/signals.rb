# frozen_string_literal: true

require "guildhall/clock"

module Guildhall
  module Kafka
    class Server
      # Handlers of signals, for a time.
      module Signals
        # Signals to stop that come within this time are one request: `timeout` signals a process and then its group, and what runs a
        # Procfile sends TERM after the terminal's INT.
        BURST_SECONDS = 1

        # Inside a trap no lock can be taken: the block may only pass the signal on. What is ignored, as HUP under nohup, stays so.
        # @return [Hash{String=>Object}] the handlers before, for {.restore}
        def self.trap(names)
          stopped_at = -Float::INFINITY
          names.to_h do |name|
            previous = Kernel.trap(name) do
              next yield name unless STOP.include?(name)

              now = Clock.now
              yield name if now - stopped_at > BURST_SECONDS && (stopped_at = now)
            end
            Kernel.trap(name, "IGNORE") if previous == "IGNORE"
            [name, previous]
          end
        end

        # @param handlers [Hash{String=>Object}] what {.trap} returned
        # @return [Array<String>] those signals to stop that the parent of this process has left ignored
        def self.ignored(handlers) = STOP.select { |name| handlers[name] == "IGNORE" }

        # @param handlers [Hash{String=>Object}, nil] what {.trap} returned
        def self.restore(handlers)
          handlers&.each { |name, handler| Kernel.trap(name, handler || "DEFAULT") }
        end
      end
    end
  end
end
