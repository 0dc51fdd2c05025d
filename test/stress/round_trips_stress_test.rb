# frozen_string_literal: true

require "test_helper"
require "support/round_trips"

# Many random values and options for every codec, another seed each time: a fault names it.
class RoundTripsStressTest < GuildhallTest
  RoundTrips::SOURCES.each do |source|
    define_method(:"test_#{source.name[/\w+\z/].downcase}") do
      seed = Integer(ENV.fetch("ROUND_TRIPS_SEED", Random.rand(1_000_000)))
      found = RoundTrips.run(source, seed:, count: 60_000)
      assert_empty found.faults.first(3), "ROUND_TRIPS_SEED=#{seed}"
      assert_operator found.same, :>, found.refused
    end
  end
end
