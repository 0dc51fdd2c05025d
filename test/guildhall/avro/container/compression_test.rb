# frozen_string_literal: true

require "test_helper"
require "guildhall/avro"

class AvroContainerCompressionTest < GuildhallTest
  Compression = Guildhall::Avro::Container::Compression

  Compression::NAMES.each do |name|
    define_method(:"test_#{name}_there_and_back") do
      compression = Compression.named(name)
      ["", "a", "abc" * 10_000].each do |bytes|
        assert_equal bytes.b, compression.decompress(compression.compress(bytes.b), 100_000)
      end
    end

    next if name == "null" # what it gives is as long as what it gets

    define_method(:"test_#{name}_makes_no_more_than_the_limit") do
      compression = Compression.named(name)
      bomb = compression.compress("\0".b * 5_000_000)
      error = assert_raises(Guildhall::DecodeError) { compression.decompress(bomb, 10_000) }
      assert_includes error.message, "longer than max_bytes"
    end
  end

  TEXT = (Array.new(2_000) { |i| "text #{i * 7919 % 1_009} " }.join + Random.new(5).bytes(3_000)).b.freeze

  (Compression::NAMES - ["null"]).each do |name|
    define_method(:"test_#{name}_that_is_cut_off_says_so") do
      compression = Compression.named(name)
      whole = compression.compress(TEXT)
      [*1..40, *(41..whole.bytesize).step(101), *(-40..-1).map { |left| whole.bytesize + left }].each do |bytes|
        error = assert_raises(Guildhall::DecodeError, bytes.to_s) { compression.decompress(whole.byteslice(0, bytes), 100_000) }
        assert_equal "Avro: block is cut off: its compressed data ends too early", error.message, bytes.to_s
      end
    end
  end

  # As Apache Avro for Python and fastavro leave it.
  def test_what_follows_a_deflate_stream_is_no_data
    deflate = Compression.named("deflate")
    ["a", "abc" * 10_000].each do |text|
      ["\x01\x02\x03", "x" * 1_000, deflate.compress("more")].each do |rest|
        assert_equal text.b, deflate.decompress(deflate.compress(text) + rest.b, text.bytesize)
      end
    end
  end

  def test_skippable_and_empty_frames_of_zstandard_are_no_data
    zstandard = Compression.named("zstandard")
    frame = zstandard.compress(TEXT)
    none = [[0x184D2A50, 0].pack("VV"), [0x184D2A5F, 300].pack("VV") + ("\x28\xB5\x2F\xFD".b * 75), zstandard.compress("")]
    none.each do |one|
      assert_equal "", zstandard.decompress(one, 10)
      assert_equal TEXT * 2, zstandard.decompress([one, frame, *none, one, frame, one].join, 100_000)
      error = assert_raises(Guildhall::DecodeError) { zstandard.decompress(frame + one.byteslice(0..-2), 100_000) }
      assert_includes error.message, "block is cut off"
    end
  end

  def test_all_kinds_of_frames_of_zstandard
    zstandard = Compression.named("zstandard")
    texts = ["", "a", "a" * 255, "a" * 256, "a" * 70_000, "a" * 300_000, Random.new(1).bytes(200_000)]
    texts.product([1, 19]) { |text, level| assert_equal text.b, zstandard.decompress(Zstd.compress(text, level:), 400_000) }
    stream = Zstd::StreamingCompress.new # does not say how long it will be
    assert_equal "abcabc", zstandard.decompress(stream.compress("abc") + stream.compress("abc") + stream.finish, 10)
    {"\x28\xB5\x2F\xFD\x20\x01\x07\x00\x00".b => "reserved", "nope nope".b => "no frame of Zstandard at its byte 0"}.each do |bytes, message|
      assert_includes assert_raises(Guildhall::DecodeError) { zstandard.decompress(bytes, 10) }.message, message
    end
  end

  def test_broken_blocks
    (Compression::NAMES - ["null"]).each do |name|
      assert_raises(Guildhall::DecodeError, name) { Compression.named(name).decompress("\xFF".b * 20, 10_000) }
    end
  end

  def test_names
    assert_same Compression.named("null"), Compression.named(nil)
    error = assert_raises(Guildhall::DecodeError) { Compression.named("lzma") }
    assert_includes error.message, 'unknown compression "lzma"; there are null, deflate, snappy, zstandard'
  end
end
