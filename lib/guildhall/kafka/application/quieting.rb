# frozen_string_literal: true

module Guildhall
  module Kafka
    class Application
      # No new work for a time, as before a process is taken out.
      module Quieting
        # No new work from now on, whatever is assigned; what is in work is finished, and the membership in the group goes
        # on.
        def quiet
          return if @quiet

          @quiet = true
          publish("app.quiet")
          partitions.each(&:quiet)
        end

        # Takes {#quiet} back: new work is started again.
        def resume
          return unless @quiet

          @quiet = false
          publish("app.resumed")
          partitions.each(&:resume_after_quiet)
        end

        # @return [Boolean] whether {#quiet} was called, and not taken back
        def quiet?
          @quiet
        end
      end
    end
  end
end
