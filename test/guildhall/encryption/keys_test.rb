# frozen_string_literal: true

require "test_helper"
require "guildhall/encryption"

class EncryptionKeysTest < GuildhallTest
  Keys = Guildhall::Encryption::Keys
  KEY = ("k" * 32).freeze

  def test_those_that_were_given
    keys = Keys.new({"old" => KEY, new: KEY})
    assert_equal [%w[old new], "new"], [keys.ids.sort.reverse, keys.last]
    assert_opens keys.fetch("new")
    assert Ractor.shareable?(keys)
    refute_includes keys.inspect, "kkk"
  end

  def test_an_unknown_one_names_the_known
    error = assert_raises(Guildhall::Encryption::UnknownKeyError) { Keys.new({"a" => KEY}).fetch("b") }
    assert_includes error.message, "there is no key b; known are a"
  end

  # Answers for one id, and counts.
  class Vault
    ASKED = Guildhall::Queue.new(100)
    def self.call(id) = ASKED.push(id.dup.freeze) && (KEY if id == "a")
  end

  def test_are_fetched_once
    keys = Keys.new(Vault)
    2.times { assert_opens keys.fetch("a") }
    assert_raises(Guildhall::Encryption::UnknownKeyError) { keys.fetch("b") }
    assert_equal %w[a b], [Vault::ASKED.pop, Vault::ASKED.pop]
    assert_nil Vault::ASKED.try_pop
    assert_nil keys.last
  end

  def test_a_key_that_was_given_as_its_id_is_not_shown
    error = assert_raises(Guildhall::ArgumentError) { Keys.new({KEY => "2026"}) }
    refute_includes error.message, KEY
    assert_includes error.message, "32 bytes"
  end

  def test_wrong_ones_are_refused_at_once
    {{} => "keys are a Hash", {"a" => "short"} => "the key a is not a String of 32 bytes", {"" => KEY} => "a key id has 1 to 255 bytes",
     {"x" * 256 => KEY} => "a key id has 1 to 255 bytes", nil => "keys are a Hash"}.each do |keys, message|
      assert_includes assert_raises(Guildhall::ArgumentError) { Keys.new(keys) }.message, message
    end
  end

  private

  def assert_opens(key) = assert_equal("x", key.open(Guildhall::Encryption::SecretKey.new(KEY).seal("x", ""), ""))
end
