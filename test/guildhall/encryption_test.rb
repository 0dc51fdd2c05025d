# frozen_string_literal: true

require "test_helper"
require "guildhall/encryption"
require "guildhall/json"
require "guildhall/pool"

class EncryptionTest < GuildhallTest
  OLD = "o" * 32
  NEW = "n" * 32
  TEXT = '{"id":1,"note":"confidential"}'
  Encryption = Guildhall::Encryption
  Metadata = Data.define(:headers)

  def setup
    @encryption = Encryption.new({"2025" => OLD, "2026" => NEW})
  end

  def test_what_is_encrypted_can_be_decrypted
    [TEXT, "", "x", "é" * 10_000, "\xff\0".b].each do |text|
      bytes = @encryption.encrypt.call(text)
      assert_equal text.b, @encryption.decrypt.call(bytes)
      assert bytes.frozen?
      refute_equal bytes, @encryption.encrypt.call(text)
      refute_includes bytes, text.b unless text.bytesize < 3
    end
  end

  def test_rotation
    old = Encryption.new({"2025" => OLD}).encrypt.call(TEXT)
    assert_equal TEXT, @encryption.decrypt.call(old)
    assert_equal TEXT, Encryption.new({"2026" => NEW}).decrypt.call(@encryption.encrypt.call(TEXT)), "the last key is the one to write with"
    assert_equal TEXT, Encryption.new({"2025" => OLD}).decrypt.call(Encryption.new({"2025" => OLD, "2026" => NEW}, write: "2025").encrypt.call(TEXT))
  end

  # Each byte of an envelope is covered: none can be changed, moved or left out unnoticed.
  def test_changed_bytes_are_refused
    bytes = @encryption.encrypt.call(TEXT)
    bytes.bytesize.times do |place|
      changed = bytes.dup
      changed.setbyte(place, changed.getbyte(place) ^ 1)
      assert_raises(Encryption::Error, place.to_s) { @encryption.decrypt.call(changed) }
      assert_raises(Encryption::Error) { @encryption.decrypt.call(bytes.byteslice(0, place)) }
    end
    assert_raises(Encryption::Error) { @encryption.decrypt.call("#{bytes}x".b) }
    ["", TEXT, "\1", "\1\xff".b].each { |other| assert_raises(Encryption::Error) { @encryption.decrypt.call(other) } }
  end

  def test_errors_name_the_key_and_never_show_it
    bytes = @encryption.encrypt.call(TEXT)
    error = assert_raises(Encryption::UnknownKeyError) { Encryption.new({"1" => OLD}).decrypt.call(bytes) }
    assert_equal ["2026", true], [error.key_id, error.message.include?("2026")]
    wrong = assert_raises(Encryption::Error) { Encryption.new({"2026" => OLD}).decrypt.call(bytes) }
    assert_equal "2026", wrong.key_id
    assert_nil wrong.cause
    short = assert_raises(Guildhall::ArgumentError) { Encryption.new({"k" => "secretsecret"}) }
    shown = [error, wrong, short].map(&:detailed_message) + [@encryption, @encryption.decrypt, @encryption.encrypt, @encryption.decrypt >> Guildhall::JSON].map(&:inspect)
    [OLD, NEW, "secretsecret", "confidential"].each { |secret| shown.each { |text| refute_includes text, secret } }
  end

  def test_workers
    bytes = @encryption.encrypt.call(TEXT)
    pipeline = @encryption.decrypt >> Guildhall::JSON.lazy
    assert_equal %i[decrypt decode], pipeline.names
    assert_equal 1, ractor_value(Ractor.new(pipeline, bytes) { |task, payload| task.call(payload)["id"] })
    writing = Guildhall.encode(Guildhall::JSON) >> @encryption.encrypt
    assert_equal TEXT, @encryption.decrypt.call(ractor_value(Ractor.new(writing) { |task| task.call({"id" => 1, "note" => "confidential"}) }))
    pool = Guildhall::Pool.new(workers: 1)
    results = pool.results([bytes, "{}".b] * 20, pipeline, parallel: true)
    assert_equal [1, :decrypt], [results.first["id"], results.last.stage]
  ensure
    pool&.shutdown
  end

  def test_the_keys_id_in_a_header
    encryption = Encryption.new({"2026" => NEW}, header: "key-id")
    bytes = encryption.encrypt.call(TEXT)
    assert_equal({"key-id" => "2026"}, encryption.headers)
    assert_equal TEXT, encryption.decrypt.call(bytes, Metadata.new(encryption.headers))
    refute_includes bytes, "2026"
    assert_raises(Encryption::Error) { encryption.decrypt.call(bytes, Metadata.new({})) }
    assert_raises(Encryption::Error) { encryption.decrypt.call(bytes) }
    assert_raises(Encryption::UnknownKeyError) { encryption.decrypt.call(bytes, Metadata.new({"key-id" => "2025"})) }
    assert_empty @encryption.headers
  end

  def test_ids_and_header_as_symbols_or_numbers
    encryption = Encryption.new({2025 => OLD, new: NEW}, write: 2025, header: :"key-id")
    assert_equal({"key-id" => "2025"}, encryption.headers)
    assert_equal TEXT, encryption.decrypt.call(encryption.encrypt.call(TEXT), Metadata.new(encryption.headers))
  end

  # Headers come from the wire as bytes.
  def test_ids_beyond_ascii
    [nil, "key-id"].each do |header|
      encryption = Encryption.new({"schlüssel" => OLD, "größer".encode("ISO-8859-1") => NEW}, write: "schlüssel", header:)
      bytes = encryption.encrypt.call(TEXT)
      [encryption.headers, encryption.headers.transform_values(&:b)].each { |headers| assert_equal TEXT, encryption.decrypt.call(bytes, Metadata.new(headers)) }
    end
    in_header = Encryption.new({"ü" => NEW}, header: "key-id")
    error = assert_raises(Encryption::UnknownKeyError) { in_header.decrypt.call(in_header.encrypt.call(TEXT), Metadata.new({"key-id" => "\xFFü".b})) }
    assert_equal "\xFFü", error.key_id
  end

  def test_what_is_no_payload
    assert_raises(TypeError) { @encryption.decrypt.call(nil) }
    assert_raises(TypeError) { @encryption.encrypt.call(nil) }
    assert_raises(TypeError) { @encryption.encrypt.call(Guildhall::JSON.document('{"a":1}')) }
  end

  # Keys of a vault that is asked in the main Ractor only.
  module Vault
    def self.call(id)
      {"2025" => "o" * 32, "2026" => "n" * 32}[id] if Ractor.main?
    end
  end

  def test_keys_that_are_kept_elsewhere
    bytes = @encryption.encrypt.call(TEXT)
    encryption = Encryption.new(Vault)
    worker = Ractor.new(encryption.decrypt, bytes) { |task, payload| task.call(payload) rescue $!.message } # rubocop:disable Style/RescueModifier
    assert_match(/prepare/, ractor_value(worker))
    (encryption.decrypt >> Guildhall::JSON).prepare([bytes, nil, "", "{}"])
    assert_equal TEXT, ractor_value(Ractor.new(encryption.decrypt, bytes) { |task, payload| task.call(payload) })
    assert_equal TEXT, Encryption.new(Vault).decrypt.call(bytes)
    assert_raises(Encryption::UnknownKeyError) { Encryption.new(Vault).decrypt.call(Encryption.new({"1" => OLD}).encrypt.call("")) }
    assert_raises(Guildhall::ArgumentError) { encryption.encrypt }
    assert_equal TEXT, encryption.decrypt.call(Encryption.new(Vault, write: "2025").encrypt.call(TEXT))
  end

  def test_what_are_no_keys
    [nil, {}, "key", {"k" => nil}, {"" => OLD}, {"k" * 256 => OLD}].each { |keys| assert_raises(Guildhall::ArgumentError, keys.inspect) { Encryption.new(keys) } }
    assert_raises(Encryption::UnknownKeyError) { Encryption.new({"1" => OLD}, write: "2") }
    assert_raises(Guildhall::NotShareableError) { Encryption.new(Class.new { def call(_id) = nil }.new) }
  end
end
