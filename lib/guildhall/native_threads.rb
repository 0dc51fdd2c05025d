# frozen_string_literal: true

require_relative "errors"
require "guildhall/native"

module Guildhall # rubocop:disable Style/Documentation
  # The native threads that Ruby runs Ractors on, beside that of the main one.
  module NativeThreads
    # How many: `RUBY_MAX_CPU` as Ruby reads it.
    COUNT = RACTOR_THREADS
    # Of these, how many workers may have: up to 4.0 one is left to other Ractors. From 4.1 on there are no more of them than processors.
    FOR_WORKERS = RUBY_VERSION >= "4.1" ? COUNT : [COUNT - 1, 1].max
    # Ruby 3.4 with a single one never runs any Ractor but the main one.
    MAIN_RACTOR_ONLY = COUNT == 1 && RUBY_VERSION < "4"
    REASON = "Ruby #{RUBY_VERSION} runs no Ractor beside the main one where RUBY_MAX_CPU is 1".freeze
    ADVICE = "#{REASON}; set RUBY_MAX_CPU to 2 or more, or do not set it".freeze

    # @raise [ConfigurationError] where a Ractor would never run
    def self.check!
      raise ConfigurationError, ADVICE if MAIN_RACTOR_ONLY
    end
  end
  private_constant :NativeThreads, :RACTOR_THREADS
end
