# frozen_string_literal: true

# Your own codec, in a pipeline, on the pool. Run it with:
# ruby examples/custom_codec.rb (in a checkout: bin/rake example[custom_codec])
require "guildhall"

# "id=7;state=paid" to a frozen Hash.
class KeyValue
  include Guildhall::Codec

  def initialize(separator: ";")
    @separator = separator.dup.freeze
    freeze
  end

  def decode(bytes)
    pairs = bytes.split(@separator).map { |pair| pair.split("=", 2) }
    raise Guildhall::DecodeError.new("a pair has no =", codec: "KeyValue") unless pairs.all? { |pair| pair.size == 2 }

    Ractor.make_shareable(pairs.to_h)
  end
end

# Which orders go on.
module Paid
  def self.call(order) = order["state"] == "paid"
end

payloads = Array.new(1_000) { |id| "id=#{id};state=#{id.even? ? "paid" : "open"}" } << "no pair"
pool = Guildhall::Pool.new(workers: 2)
results = pool.results(payloads, KeyValue.new >> Guildhall.select(Paid))
kept, failures = results.reject { |result| Guildhall::DROPPED.equal?(result) }.partition { |result| result.is_a?(Hash) }
puts "#{kept.size} of #{payloads.size} are paid, the last is #{kept.last}"
puts "failed: #{failures.map { |failure| "#{failure.error_class} at #{failure.index}, stage #{failure.stage}: #{failure.message}" }.join}"
pool.shutdown
