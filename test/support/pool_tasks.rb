# frozen_string_literal: true

# Tasks for tests of the pool. What happens depends on the payload.
module PoolTasks
  class CustomError < StandardError
    attr_reader :code

    def initialize(code)
      @code = code
      super("code #{code}")
    end
  end

  module Upcase
    def self.call(text) = text.upcase.freeze
  end

  module WithMetadata
    def self.call(text, metadata) = [text, metadata].freeze
  end

  # Returns where it ran.
  module WhichRactor
    def self.call(_payload) = Ractor.current == Ractor.main ? :main : :worker
  end

  module Sleepy
    def self.call(seconds)
      sleep(seconds)
      seconds
    end
  end

  # Holds those payloads up until it is opened, wherever they run; others come back at once.
  class Held
    def initialize(*payloads)
      @payloads = payloads.freeze
      @gate = Guildhall::Queue.new(1)
      freeze
    end

    def call(payload) = @payloads.include?(payload) ? @gate.pop(default: payload) : payload
    def open = @gate.close
  end

  # Everything that can go wrong, by name; other payloads come back upcased.
  module Trouble
    def self.call(name)
      case name
      when "standard" then raise("standard")
      when "custom" then raise(CustomError, 7)
      when "not implemented" then raise(NotImplementedError, "no such thing")
      when "stack" then call(name)
      when "memory" then raise(NoMemoryError, "failed to allocate")
      when "exit" then exit(3)
      when "throw" then throw(:nowhere)
      when "thread exit" then Thread.exit
      when "unshareable" then [Thread.current].freeze
      when "cause" then caused
      else name.upcase.freeze
      end
    end

    def self.caused
      raise(KeyError, "inner")
    rescue KeyError
      raise(::ArgumentError, "outer")
    end
  end
end
