# frozen_string_literal: true

require "guildhall/clock"

module Guildhall
  module Kafka
    class Server
      # Handlers of signals, for a time.
      module Signals
        # Inside a trap no lock can be taken: the block may only pass the signal on. What is ignored, as HUP under nohup, stays so.
        # @param names [Array<String>]
        # @yieldparam name [String]
        # @return [Hash{String=>Object}] the handlers before, for {.restore}
        def self.trap(names)
          names.to_h do |name|
            previous = Kernel.trap(name) { yield name }
            Kernel.trap(name, "IGNORE") if previous == "IGNORE"
            [name, previous]
          end
        end

        # @param handlers [Hash{String=>Object}, nil] what {.trap} returned
        # @return [void]
        def self.restore(handlers)
          handlers&.each { |name, handler| Kernel.trap(name, handler || "DEFAULT") }
        end

        # Tells a signal that asks again from one that says the same once more: Ctrl-C reaches every process of a terminal, and a
        # process manager there (foreman, as in Rails' bin/dev) sends TERM behind it.
        class Requests
          SAME_SECONDS = 2
          private_constant :SAME_SECONDS

          # @param signal [String] that asks to stop
          # @return [Boolean] whether it was asked before
          def again?(signal)
            now = Clock.now
            first, since = @first
            @first ||= [signal, now]
            !first.nil? && !(first == "INT" && signal == "TERM" && now - since < SAME_SECONDS)
          end
        end
      end
    end
  end
end
