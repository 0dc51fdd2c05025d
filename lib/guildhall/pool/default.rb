# frozen_string_literal: true

module Guildhall # rubocop:disable Style/Documentation
  @pool_lock = Mutex.new

  class << self
    # The process's pool, with default settings unless another one was assigned; made when it is first asked for.
    # @raise [WrongRactorError] outside the main Ractor
    def pool
      Pool.check_ractor!
      @pool || @pool_lock.synchronize { @pool ||= Pool.new }
    end

    # Replaces the process's pool. The one before goes on until it is shut down, or has no references any more.
    # @param pool [Pool, nil] nil: a new one when it is next asked for
    def pool=(pool)
      Pool.check_ractor!
      raise Guildhall::ArgumentError, "not a pool: #{pool.inspect}" unless pool.nil? || pool.is_a?(Pool)

      @pool_lock.synchronize { @pool = pool }
    end
  end
end
