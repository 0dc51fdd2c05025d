# frozen_string_literal: true

require "test_helper"
require "guildhall/pool"
require "support/round_trips"

# What every codec writes it reads as the same, or it refuses to write it: here, and in workers. `bin/test --stress` tries more.
class RoundTripsTest < GuildhallTest
  SEED = 20_260_301

  RoundTrips::SOURCES.each do |source|
    name = source.name[/\w+\z/].downcase
    define_method(:"test_#{name}") { judge(RoundTrips.run(source, seed: SEED, count: 1_500), source) }
    define_method(:"test_#{name}_in_workers") do
      pool = Guildhall::Pool.new(workers: 2)
      judge(RoundTrips.run(source, seed: SEED + 1, count: 300) { |pairs| pool.map(pairs, RoundTrips::Trip, parallel: true) }, source)
    ensure
      pool&.shutdown(timeout: 10)
    end
  end

  private

  def judge(found, source)
    assert_empty found.faults, found.faults.first(3).map { |fault| fault.map(&:inspect).join("\n  ") }.join("\n")
    assert_operator found.same, :>, found.refused, source.name
  end
end
