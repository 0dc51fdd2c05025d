# frozen_string_literal: true

require "test_helper"
require "guildhall/pool"
require "guildhall/shared_cache"
require "guildhall/pipeline"

# A task that answers `prepare` sees a batch's payloads first, in the thread that dispatches them.
class PoolPrepareTest < GuildhallTest
  # Fetches what payloads name, in the main Ractor; elsewhere it knows only that.
  class Fetching
    def initialize
      @fetched = Guildhall::SharedCache.new
      Ractor.make_shareable(self)
    end

    def call(payload) = @fetched[payload] || raise(KeyError, "#{payload} was not fetched")

    def prepare(payloads)
      raise IOError, "nobody to ask" if payloads.include?("down")

      payloads.each { |payload| @fetched.add(payload, "#{payload} fetched in #{Ractor.main? ? "main" : "a worker"}".freeze) }
    end
  end

  def setup
    @pool = Guildhall::Pool.new(workers: 1)
  end

  def teardown
    @pool.shutdown
  end

  def test_prepare_sees_the_payloads_before_workers_do
    task = Fetching.new
    assert_equal ["a fetched in main", "b fetched in main"], @pool.map(%w[a b], task, parallel: true)
    assert_equal ["c fetched in main"], @pool.map(%w[c], task)
    assert_equal ["d fetched in main"], @pool.dispatch(%w[d], task, parallel: false).value
  end

  def test_it_sees_the_bytes_of_records
    record = Ractor.make_shareable(Struct.new(:raw_payload).new("bytes"))
    assert_equal ["bytes fetched in main"], @pool.map([record], Fetching.new, records: true, parallel: true)
  end

  # As a codec does.
  class FetchingCodec < Fetching
    alias decode call
    include Guildhall::Codec
  end

  def test_a_pipelines_codec_prepares
    pipeline = FetchingCodec.new >> Guildhall.map(&:to_sym)
    assert_equal [:"a fetched in main"], @pool.results(%w[a], pipeline, parallel: true)
  end

  def test_what_it_raises_reaches_the_caller_of_dispatch
    error = assert_raises(IOError) { @pool.dispatch(%w[a down], Fetching.new) }
    assert_equal "nobody to ask", error.message
  end
end
