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
