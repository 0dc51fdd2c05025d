# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"
require "guildhall/kafka/commanding/checks"

class KafkaCommandChecksTest < GuildhallTest
  Commanding = Guildhall::Kafka::Commanding
  Record = Data.define(:raw_payload, :headers)

  def setup
    @private, @public = Commanding::Keys.generate
    @checks = checks(public_key: @public, allow: %i[retry])
    @at = 1_000_000.0
  end

  def checks(**given) = Commanding::Checks.new(Commanding::Settings.of(given))
  def command(action = :retry, id: "1", **) = Commanding::Command.make(action:, target: {group: "g"}, by: "ada", why: "try", id:, at: @at, **)

  def signed(bytes, key = @private)
    Record.new(bytes, {"signature" => Commanding::Keys.sign(Commanding::Keys.private(key), bytes)})
  end

  def refusal(sent, read, **) = @checks.refusal(command(**), Time.at(@at + sent), now: Time.at(@at + sent + read))
  def forged(record, checks = @checks) = assert_raises(Guildhall::Kafka::CommandError) { checks.authentic(record) }.message

  def test_only_what_is_signed_counts
    bytes = command.encode
    assert_equal command, @checks.authentic(signed(bytes))
    other = signed(bytes).with(raw_payload: bytes.sub("try", "tri"))
    [Record.new(bytes, {}), other, signed(bytes, Commanding::Keys.generate.first), Record.new(nil, {})].each do |record|
      assert_match(/signature is missing, or not of the key/, forged(record))
    end
    assert_equal command, checks(insecure: true).authentic(Record.new(bytes, {})), "without a key"
  end

  def test_what_is_signed_and_no_command_is_refused
    assert_match(/no JSON/, forged(signed("{")))
    assert_match(/bytes, more than/, forged(signed("x" * 20_000)))
  end

  def test_what_is_not_allowed_here
    assert_match(/pause is not allowed here: config.commands has allow: \[:retry\]/,
      @checks.refusal(command(:pause, args: {seconds: 1}), Time.at(@at), now: Time.at(@at)))
  end

  def test_it_expires
    assert_nil refusal(0, 0)
    assert_nil refusal(10, 20)
    assert_match(/has expired: 31 s old, of 30 s \(1 s until the broker had it, 30 s from there to this process/, refusal(1, 30))
    assert_match(/has expired/, refusal(31, 0), "written again, later, by somebody who has no key")
    assert_match(/has expired/, refusal(0, 3, expires: 2))
  end

  # Such a clock makes old commands young.
  def test_clocks_that_are_wrong
    assert_nil refusal(-4, 0)
    assert_match(/the sender's clock is 60 s ahead of the broker's/, refusal(-60, 0))
    assert_match(/this process's clock is 60 s behind the broker's/, refusal(0, -60))
  end

  def test_it_comes_once
    assert @checks.first?(command, now: 0)
    refute @checks.first?(command, now: 599)
    assert @checks.first?(command(id: "2"), now: 599)
    assert @checks.first?(command, now: 601), "forgotten: it has expired long since"
    assert_operator Commanding::Checks::SEEN_SECONDS, :>, Commanding::Command::MAX_EXPIRES_SECONDS + (2 * Commanding::Checks::TOLERANCE_SECONDS)
  end
end
