# frozen_string_literal: true

require "json"
require "guildhall"
require_relative "../support/bench"
require_relative "../support/pool_peers"
require_relative "../data/corpus"
%w[thread_coordinated pre_partitioned ephemeral ractor_supervisor].each { |name| require_relative "../patterns/#{name}" }

Warning[:experimental] = false

# What the tables of the talk have in common.
module Talk
  SIZES = {"0.5 KB" => 500, "5 KB" => 5_000, "19 KB" => 19_000, "78 KB" => 78_000}.freeze
  PATTERNS = {"thread-coordinated" => Patterns::ThreadCoordinated, "pre-partitioned" => Patterns::PrePartitioned,
              "ephemeral Ractors" => Patterns::Ephemeral, "Ractor supervisor" => Patterns::RactorSupervisor}.freeze
  LAZY = Guildhall::JSON.lazy
  HASHES = Guildhall::JSON
  # Parse and validate.
  module Valid
    def self.call(text) = check(JSON.parse(text))

    def self.check(order)
      order["id"].is_a?(Integer) && order["user"]["email"].include?("@") && order["items"].all? { |item| item["price"] >= 0 && item["sku"].start_with?("SKU-") }
    end
  end
  # The same on the pool.
  VALID = LAZY >> Guildhall.map { |order| Valid.check(order) }

  class << self
    # @return [Array<String>] `count` JSON texts of about `bytes` bytes each, whose values do not repeat
    def texts(bytes, count)
      Corpus.new(bytes: [bytes * count, 20_000_000].min).fresh(bytes).cycle.first(count).freeze
    end

    def workers = [Guildhall::Pool::Settings.default_workers, 2].max
    def seconds(&) = PoolPeers.seconds(&)

    # @return [Array<Float>] medians of several ways, taken in turn
    def medians(rounds, *ways)
      ways.each(&:call)
      Array.new(rounds) { ways.map { |way| seconds(&way) } }.transpose.map { |times| Bench.median(times) }
    end

    # Calls the block repeatedly in `count` threads for `seconds`.
    # @return [Array<Float>] the duration of each call, in seconds
    def callers(count, seconds, &block)
      limit = PoolPeers.now + seconds
      threads = Array.new(count) do
        Thread.new do
          times = []
          times << PoolPeers.seconds(&block) while PoolPeers.now < limit
          times
        end
      end
      threads.flat_map(&:value)
    end

    def percentile(times, part) = times.sort[((times.size - 1) * part).round]
  end
end
