# frozen_string_literal: true

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
      end
    end
  end
end
