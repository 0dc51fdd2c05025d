# frozen_string_literal: true

require "test_helper"
require "guildhall/encryption"

class EncryptionEnvelopeTest < GuildhallTest
  Envelope = Guildhall::Encryption::Envelope
  KEY = Guildhall::Encryption::SecretKey.new("k" * 32)

  def test_its_bytes
    sealed = Envelope.encrypt("text", "key-ü", KEY, true)
    opened = Envelope.open(sealed)
    assert_equal ["key-ü", 2 + "key-ü".bytesize], [opened.id, opened.start]
    assert_equal opened.start + 12 + 4 + 16, sealed.bytesize
    assert_equal "text", Envelope.decrypt(sealed, opened, "key-ü", KEY)
    assert_predicate sealed, :frozen?
  end

  def test_the_id_may_be_elsewhere
    sealed = Envelope.encrypt("", "k", KEY, false)
    opened = Envelope.open(sealed)
    assert_equal [nil, 2], [opened.id, opened.start]
    assert_equal "", Envelope.decrypt(sealed, opened, "k", KEY)
  end

  def test_no_two_are_equal
    refute_equal Envelope.encrypt("a", "k", KEY, true), Envelope.encrypt("a", "k", KEY, true)
  end

  def test_every_changed_byte_is_noticed
    sealed = Envelope.encrypt("secret", "k", KEY, true)
    sealed.bytesize.times do |index|
      changed = sealed.dup.tap { |bytes| bytes.setbyte(index, bytes.getbyte(index) ^ 1) }
      assert_raises(Guildhall::Encryption::Error, "byte #{index}") { Envelope.decrypt(changed, Envelope.open(changed), Envelope.open(changed).id, KEY) }
    end
  end

  def test_the_id_is_part_of_what_is_protected
    sealed = Envelope.encrypt("a", "k", KEY, false)
    error = assert_raises(Guildhall::Encryption::Error) { Envelope.decrypt(sealed, Envelope.open(sealed), "other", KEY) }
    assert_includes error.message, "changed, or encrypted with another key"
    assert_nil error.cause
  end

  def test_what_is_no_envelope
    sealed = Envelope.encrypt("", "k", KEY, true)
    assert_raises(Guildhall::Encryption::Error) { Envelope.open("") }
    assert_raises(Guildhall::Encryption::Error) { Envelope.open("{}") }
    (1...sealed.bytesize).each { |size| assert_raises(Guildhall::Encryption::Error) { Envelope.open(sealed.byteslice(0, size)) } }
    assert_raises(TypeError) { Envelope.string(nil) }
  end
end
