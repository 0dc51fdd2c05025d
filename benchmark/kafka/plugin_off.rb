# frozen_string_literal: true

require "karafka"
require "guildhall/karafka"

# What the plug-in costs a fetch that it has nothing to do with: Karafka's event after it, published on Karafka's monitor, against the same on
# a monitor that the plug-in has never seen. No broker, no consumer.
class PluginOff
  EVENT = "connection.listener.fetch_loop.received"
  FETCHES = 20_000
  Message = Struct.new(:metadata)
  Metadata = Struct.new(:deserializers)
  Deserializers = Struct.new(:payload)
  Group = Struct.new(:id)

  def initialize
    @bare = Karafka::Instrumentation::Monitor.new
    message = Message.new(Metadata.new(Deserializers.new(->(one) { one })))
    @payload = {subscription_group: Group.new("group"), messages_buffer: [["orders", 0, Array.new(100, message)]]}
    Guildhall::Karafka.parallel(Guildhall::JSON) # of another topic
  end

  # @param rounds [Integer]
  # @return [Float] nanoseconds more for a fetch, off for the application
  def application(rounds)
    Guildhall::Karafka.setup { |config| config.enabled = false }
    extra(rounds)
  end

  # @param rounds [Integer]
  # @return [Float] nanoseconds more for a fetch of one partition, whose topic has an ordinary deserializer
  def topic(rounds)
    Guildhall::Karafka.setup
    extra(rounds)
  end

  private

  def extra(rounds)
    pairs = Array.new(rounds) { [seconds(@bare), seconds(Karafka.monitor)] }
    Bench.median(pairs.map { |bare, ours| (ours - bare) / FETCHES }) * 1e9
  end

  def seconds(monitor)
    began = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    FETCHES.times { monitor.instrument(EVENT, @payload) { nil } }
    Process.clock_gettime(Process::CLOCK_MONOTONIC) - began
  end
end
