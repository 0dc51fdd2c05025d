# frozen_string_literal: true

module Guildhall # rubocop:disable Style/Documentation
  class Pool
    # The pools that have workers in this process: ended at exit, and before a fork.
    # @api private
    module ForkTracking
      POOLS = ObjectSpace::WeakMap.new
      @resting = false
      private_constant :POOLS

      class << self
        def begin(pool)
          @installed ||= install
          POOLS[pool] = true
        end

        # From now on the workers of all pools end before each fork, where Ruby needs that.
        def rest_before_forks
          @resting = true
        end

        def resting? = @resting

        def at_work
          POOLS.keys.select(&:workers?)
        end

        private

        def install
          at_exit { POOLS.keys.each(&:stop_at_exit) } # in children, too: they may have workers of their own
          Process.singleton_class.prepend(ForkGuard) unless FORKS_WITH_RACTORS
          true
        end
      end

      # From 4.0 on a process with live Ractors can be forked.
      FORKS_WITH_RACTORS = RUBY_VERSION.to_f >= 4.0

      # On Ruby 3.4 such a fork fails every other time: better never, and with an explanation.
      module ForkGuard
        def _fork
          raise ::Ractor::IsolationError, "can not fork from non-main Ractors" unless Ractor.main? # 4.0's own words

          Guildhall.before_fork if ForkTracking.resting?
          busy = ForkTracking.at_work
          return super if busy.empty?

          raise PoolBusyError, "Ruby #{RUBY_VERSION} cannot be forked safely while Ractors live, and #{busy.size} pool(s) have " \
                               "workers: call Guildhall.before_fork first (in Puma's, Sidekiq's or Resque's hook of that name), " \
                               "or start the pool after the fork"
        end
      end
    end
  end

  # Ends the workers of all pools, when what they have begun is done; they start again with the next batch, in this
  # process and in its children. To be called before a fork, in the main Ractor; on Ruby 3.4 it must be.
  # @param timeout [Numeric] seconds
  # @raise [PoolBusyError] when workers are still busy then
  def self.before_fork(timeout: 10)
    stuck = Pool::ForkTracking.at_work.reject { |pool| pool.rest(timeout:) }
    raise PoolBusyError, "#{stuck.size} pool(s) have workers that are still busy after #{timeout} s" if stuck.any?
  end

  # The counterpart of {before_fork}, for servers that have both hooks. Pools start again by themselves.
  def self.after_fork; end
end
