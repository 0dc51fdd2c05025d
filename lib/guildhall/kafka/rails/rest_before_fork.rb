# frozen_string_literal: true

require "guildhall/pool"

module Guildhall
  module Kafka
    module Rails
      # On Ruby 3.4 a process with live Ractors cannot be forked safely: here the workers end before each fork, whether Puma's
      # `before_fork` says so or not, and start again with the next batch. From Ruby 4.0 on nothing has to be done.
      module RestBeforeFork
        def _fork
          Guildhall.before_fork
          super
        end

        Pool::ForkTracking::ForkGuard.prepend(self)
      end
    end
  end
end
