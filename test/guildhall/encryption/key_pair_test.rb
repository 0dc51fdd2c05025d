# frozen_string_literal: true

require "test_helper"
require "guildhall/encryption"

class EncryptionKeyPairTest < GuildhallTest
  Encryption = Guildhall::Encryption

  def setup
    @pair = Encryption::PrivateKey.generate
    @writer = Encryption.new({"a" => @pair.public_key})
    @reader = Encryption.new({"a" => @pair})
  end

  # RFC 9180, appendix A.1.1.
  def test_the_vectors_of_the_rfc
    private_key, public_key, ephemeral, info, text, covered, sealed = [
      "4612c550263fc8ad58375df3f557aac531d26850903e55a9f23f21d8534e8ac8", "3948cfe0ad1ddb695d780e59077195da6c56506b027329794ab02bca80815c4d",
      "52c4a758a802cd8b936eceea314432798d5baf2d7e9235dc084ab1b9cfa2f736", "4f6465206f6e2061204772656369616e2055726e",
      "4265617574792069732074727574682c20747275746820626561757479", "436f756e742d30",
      "37fda3567bdbd628e88668c3c8d7e97d1d1253b6d4ea6d44c150f741f1bf4431" \
      "f938558b5d72f1a23810b4be2ab4f84331acc02fc97babc53a52ae8218a355a96d8770ac83d07bea87e13c512a"
    ].map { |digits| [digits].pack("H*") }
    hybrid = Encryption::HPKE.new(info, cipher: "aes-128-gcm")
    assert_equal sealed, hybrid.seal(public_key, text, covered, ephemeral:)
    assert_equal text, hybrid.open(private_key, sealed, covered)
  end

  def test_who_has_the_public_key_can_write_and_not_read
    ["", "x", "é" * 10_000, "\xff\0".b].each do |text|
      sealed = @writer.encrypt.call(text)
      assert_equal text.b, @reader.decrypt.call(sealed)
      refute_equal sealed, @writer.encrypt.call(text)
      error = assert_raises(Encryption::Error) { @writer.decrypt.call(sealed) }
      assert_includes error.message, "takes the private key"
    end
    assert_equal "own", @reader.decrypt.call(@reader.encrypt.call("own"))
  end

  def test_changed_bytes_are_refused
    sealed = @writer.encrypt.call("confidential")
    sealed.bytesize.times do |place|
      changed = sealed.dup.tap { |bytes| bytes.setbyte(place, bytes.getbyte(place) ^ 0x40) }
      assert_raises(Encryption::Error, "byte #{place}") { @reader.decrypt.call(changed) }
      assert_raises(Encryption::Error, "cut off at #{place}") { @reader.decrypt.call(sealed.byteslice(0, place)) }
    end
    assert_raises(Encryption::Error) { @reader.decrypt.call("\2\1a#{"\0" * 60}".b) } # an ephemeral key of zeros
  end

  def test_pem
    pem = @pair.to_pem
    assert_equal "x", Encryption.new({"a" => Encryption::PrivateKey.new(pem)}).decrypt.call(@writer.encrypt.call("x"))
    assert_equal @pair.public_key, Encryption::PublicKey.new(@pair.public_key.to_pem)
    locked = OpenSSL::PKey.read(pem).private_to_pem("aes-256-cbc", "word")
    assert_equal @pair.public_key, Encryption::PrivateKey.new(locked, "word").public_key
    elliptic = OpenSSL::PKey::EC.generate("prime256v1")
    [-> { Encryption::PrivateKey.new(locked) }, -> { Encryption::PrivateKey.new(elliptic.private_to_pem) }, -> { Encryption::PrivateKey.new("short") },
     -> { Encryption::PublicKey.new(elliptic.public_to_pem) }, -> { Encryption::PublicKey.new(nil) }].each do |wrong|
      assert_match(/X25519|32 bytes/, assert_raises(Guildhall::ArgumentError, &wrong).message)
    end
  end

  def test_kinds_of_keys_beside_each_other
    secret = "s" * 32
    both = Encryption.new({"a" => secret, "b" => @pair})
    assert_equal "1", both.decrypt.call(Encryption.new({"a" => secret}).encrypt.call("1"))
    assert_equal "2", both.decrypt.call(Encryption.new({"b" => @pair.public_key}).encrypt.call("2"))
    error = assert_raises(Encryption::Error) { @reader.decrypt.call(Encryption.new({"a" => secret}).encrypt.call("1")) }
    assert_includes error.message, "encrypted with a secret key"
  end

  def test_keys_are_not_shown_and_can_be_shared
    refute_includes [@pair, @reader, @reader.decrypt].inspect, @pair.to_pem.lines[1].strip
    refute_match(/\\x|@bytes/, @pair.inspect)
    assert Ractor.shareable?(@pair)
    reader = Ractor.new(@reader.decrypt, @writer.encrypt.call("there")) { |decrypt, sealed| decrypt.call(sealed) }
    assert_equal "there", reader.respond_to?(:value) ? reader.value : reader.take
  end
end
