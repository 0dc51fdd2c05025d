# frozen_string_literal: true

require "rbconfig"

module Guildhall
  module Kafka
    module Logging
      # The place in the application's own code that an error came from.
      module Frame
        GUILDHALL = File.expand_path("../../..", __dir__)

        # @return [String, nil] the first frame that is neither Ruby's, nor a gem's, nor Guildhall's; where there is none, the
        #   first at all; nil where the error was never raised
        def self.of(error)
          frames = error.backtrace or return
          foreign = [GUILDHALL, RbConfig::CONFIG["rubylibdir"], *Gem.path].map { |folder| "#{folder}/" }
          frames.find { |frame| !frame.start_with?("<internal:", *foreign) } || frames.first
        end
      end
    end
  end
end
