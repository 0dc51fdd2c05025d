# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka/cli"

class KafkaMomentTest < GuildhallTest
  Moment = Guildhall::Kafka::CLI::Moment
  NOW = Time.utc(2026, 11, 27, 12)

  def test_from
    {"earliest" => :earliest, "latest" => :latest, "17" => 17, "-100" => -100, "0:17,3:9" => {0 => 17, 3 => 9}, "10m" => NOW - 600, "1.5h" => NOW - 5_400,
     "3d" => NOW - 259_200, "30s" => NOW - 30, "2w" => NOW - 1_209_600, "2026-11-27" => Time.utc(2026, 11, 27), "2026-11-27 03:00" => Time.utc(2026, 11, 27, 3),
     "2026-11-27T03:00:01.5Z" => Time.utc(2026, 11, 27, 3, 0, 1.5), "2026-11-27T03:00+01:00" => Time.utc(2026, 11, 27, 2), "2026-11-27 03:00 -0330" => Time.utc(2026, 11, 27, 6, 30), "@1764212400" => Time.at(1_764_212_400),
     "@1764212400.25" => Time.at(1_764_212_400.25), "@1764212400123" => Time.at(1_764_212_400, 123, :millisecond)}
      .each { |text, expected| assert_equal expected, Moment.from(text, NOW), text }
  end

  def test_until
    {"end" => :end, "17" => 17, "10m" => NOW - 600}.each { |text, expected| assert_equal expected, Moment.until(text, NOW), text }
  end

  def test_what_is_neither
    ["", "yesterday", "2026-02-31 10:00", "2026-02-31", "2026-13-01", "2026-11-27 03:00 Berlin", "2026-11-27T03:00+99:00", "10x", "0:", "0:1,", "@x"].each do |text|
      assert_includes assert_raises(Guildhall::ArgumentError) { Moment.from(text, NOW) }.message, "--from takes earliest, latest, an offset"
    end
    ["-5", "0:1", "earliest"].each { |text| assert_raises(Guildhall::ArgumentError) { Moment.until(text, NOW) } }
  end
end
