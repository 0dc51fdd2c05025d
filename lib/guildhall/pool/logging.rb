# frozen_string_literal: true

module Guildhall # rubocop:disable Style/Documentation
  # For tasks: what they log is written by the pool's logger (`Pool.new(logger:)`, standard error without one), whether
  # they run in a worker or in a caller's thread. Never waits; what is too much is counted and dropped.
  # @return [#debug, #info, #warn, #error, #fatal]
  def self.logger
    Ractor.current[:guildhall_logger] || Thread.current.thread_variable_get(:guildhall_logger) || Pool::ToStandardError
  end

  class Pool
    # The logger of those who have none.
    module ToStandardError
      Log::SEVERITIES.each do |severity|
        class_eval(<<~RUBY, __FILE__, __LINE__ + 1)
          def self.#{severity}(message = nil)                                                                # def self.info(message = nil)
            $stderr.puts("#{severity}: \#{message.nil? && block_given? ? yield : message}")  #   $stderr.puts("info: …")
          end                                                                                                # end
        RUBY
      end
    end
  end
end
