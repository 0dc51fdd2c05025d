# frozen_string_literal: true

require "test_helper"
require "support/avro_gem"
require "guildhall/avro"
require "zlib"

class AvroContainerTest < GuildhallTest
  Container = Guildhall::Avro::Container
  SCHEMA = {type: "record", name: "R", fields: [{name: "n", type: "long"}, {name: "t", type: "string"}]}.freeze
  OBJECTS = Array.new(3_000) { {"n" => it, "t" => "text #{it}"} }.freeze

  def test_the_gem_reads_what_we_write_and_we_what_it_writes
    %w[null deflate snappy zstandard].each do |compression|
      assert_equal OBJECTS, Avro::DataFile::Reader.new(StringIO.new(write(compression:)), Avro::IO::DatumReader.new).to_a
      assert_equal OBJECTS, Container.each(gem_file(compression)).to_a
      assert_equal OBJECTS, Container.each(StringIO.new(write(compression:))).to_a
    end
  end

  def test_blocks_go_to_ractors
    blocks = Container::Reader.new(write(block_bytes: 1_000)).each_block.to_a
    assert_operator blocks.size, :>, 10
    assert(blocks.all? { |block| Ractor.shareable?(block) })
    assert_equal OBJECTS, blocks.map { |block| ractor_value(Ractor.new(block, &:objects)) }.flatten(1)
  end

  def test_is_read_as_another_schema
    reader = {type: "record", name: "R", fields: [{name: "n", type: "double"}, {name: "more", type: "int", default: 5}]}
    assert_equal({"n" => 0.0, "more" => 5}, Container.each(write, reader:).first)
  end

  def test_metadata
    file = Container::Reader.new(write(metadata: {"by" => "test"}))
    assert_equal %w[test null], file.metadata.values_at("by", "avro.codec")
    assert_equal Guildhall::Avro::Schema.parse(SCHEMA), file.schema
    assert_raises(Guildhall::ArgumentError) { write(metadata: {"avro.x" => "y"}) }
  end

  # Blocks end by what a reader counts.
  def test_objects_that_take_few_bytes_or_none
    nulls = lambda do |name, count, more = []|
      {type: "record", name:, fields: [*Array.new(count) { {name: "f#{it}", type: "null"} }, *more]}
    end
    {"null" => [nil, 70_000], nulls["R", 4] => [{}, 14_000], {type: "array", items: "null"} => [[nil] * 40_000, 3],
     nulls["R", 100, [{name: "n", type: "int"}]] => [{"n" => 1}, 2_000]}.each do |schema, (object, count)|
      file = StringIO.new("".b)
      Container.write(file, schema, [object] * count)
      assert_equal count, Container.each(file.string).count, schema.to_s[0, 60]
    end
  end

  def test_objects_that_cannot_be_read
    {{type: "array", items: "null"} => [nil] * 65_537, "bytes" => "x" * (64 * 1024 * 1024)}.each do |schema, object|
      writer = Container::Writer.new(file = StringIO.new("".b), schema)
      assert_raises(Guildhall::EncodeError, schema.to_s[0, 60]) { writer << object }
      writer.flush
      assert_empty Container.each(file.string).to_a
    end
  end

  def test_blocks_are_no_longer_than_max_bytes
    file = StringIO.new("".b)
    objects = Array.new(3) { it.to_s * (30 * 1024 * 1024) }
    Container.write(file, "bytes", objects, block_bytes: 100 * 1024 * 1024)
    assert_equal objects.map(&:bytesize), Container.each(file.string).map(&:bytesize)
  end

  def test_no_objects_at_all
    assert_empty Container.each(write([])).to_a
  end

  def test_an_object_that_does_not_fit_leaves_nothing_behind
    io = StringIO.new("".b)
    writer = Container::Writer.new(io, SCHEMA)
    writer << OBJECTS[0]
    assert_raises(Guildhall::EncodeError) { writer << {"n" => "x"} }
    (writer << OBJECTS[1]).flush
    assert_equal OBJECTS.first(2), Container.each(io.string).to_a
  end

  def test_damaged_files
    whole = write(OBJECTS.first(10))
    damaged = ["", "Obj", "Nope" * 10, whole[0..50], whole[0..-2], whole[0..-20], whole.dup.tap { it.setbyte(-1, it.getbyte(-1) ^ 1) }]
    damaged.each { |bytes| assert_raises(Guildhall::DecodeError) { Container.each(bytes).to_a } }
  end

  # Flushed without objects: compressed, or of no bytes at all.
  def test_blocks_without_objects
    Container::Compression::NAMES.each do |compression|
      whole = write(OBJECTS.first(2), compression:)
      sync = whole.byteslice(-16, 16)
      head = whole.byteslice(0, whole.index(sync) + 16)
      blocks = whole.byteslice(head.bytesize..)
      nothing = Container::Compression.named(compression).compress("".b)
      empty = ["\x00\x00".b + sync, "\x00".b + (nothing.bytesize * 2).chr.b + nothing + sync]
      empty.each do |block|
        file = [head, block, blocks, block, block].join
        assert_equal OBJECTS.first(2), Container.each(file).to_a, compression
        assert_equal [0, 2, 0, 0], Container::Reader.new(file).each_block.map { |one| one.objects.size }
      end
      assert_raises(Guildhall::DecodeError, compression) { Container.each("#{head}\x02\x00#{sync}").to_a }
    end
  end

  def test_a_block_that_is_cut_off_is_named
    %w[deflate snappy zstandard].each do |compression|
      kind = Container::Compression.named(compression)
      whole = write(OBJECTS.first(50), compression:)
      sync = whole.byteslice(-16, 16)
      head = whole.byteslice(0, whole.index(sync) + 16)
      cut = kind.compress("\x02\x02a".b * 50).then { it.byteslice(0, it.bytesize - 2) }
      file = head + "\x64".b + (cut.bytesize * 2).chr.b + cut + sync
      [-> { Container.each(file).to_a }, -> { Container::Reader.new(file).each_block.to_a }].each do |read|
        assert_includes assert_raises(Guildhall::DecodeError, compression, &read).message, "block is cut off"
      end
      [-> { Container.each(whole[0..-30]).to_a }, -> { Container::Reader.new(whole[0..-30]).each_block.to_a }].each do |read|
        assert_includes assert_raises(Guildhall::DecodeError, compression, &read).message, "unexpected end of input"
      end
    end
  end

  def test_blocks_that_would_burst
    %w[deflate snappy zstandard].each do |compression|
      file = write(Array.new(200) { {"n" => it, "t" => "x" * 10_000} }, compression:, block_bytes: 10**7)
      assert_operator file.bytesize, :<, 100_000, compression
      error = assert_raises(Guildhall::DecodeError, compression) { Container.each(file, max_bytes: 100_000).to_a }
      assert_match(/max_bytes/, error.message, compression)
    end
  end

  def test_a_block_that_lies_about_its_length_makes_no_room_for_it
    lying = "\xFF\xFF\xFF\xFF\x0F".b + "\x00abcd".b
    error = assert_raises(Guildhall::DecodeError) { Container::Compression.named("snappy").decompress(lying, 1_000) }
    assert_match(/max_bytes/, error.message)
  end

  def test_damaged_blocks
    %w[deflate snappy zstandard].each do |compression|
      kind = Container::Compression.named(compression)
      whole = kind.compress("text " * 100)
      assert_equal "text " * 100, kind.decompress(whole, 1_000)
      [whole.byteslice(2..), "x" * 40, "\xFF".b * 4].each do |bytes|
        assert_raises(Guildhall::DecodeError, "#{compression} #{bytes.inspect}") { kind.decompress(bytes, 1_000) }
      end
    end
    wrong = Container::Compression.named("snappy").compress("text").tap { it.setbyte(-1, it.getbyte(-1) ^ 1) }
    assert_match(/checksum/, assert_raises(Guildhall::DecodeError) { Container::Compression.named("snappy").decompress(wrong, 9) }.message)
  end

  def test_compressions_that_are_unknown_or_need_a_gem
    assert_raises(Guildhall::ArgumentError) { write(compression: "nope") }
    assert_ruby(<<~RUBY)
      module Kernel
        alias require_as_it_was require
        def require(name) = %w[snappy zstd-ruby].include?(name) ? raise(LoadError, "no \#{name}") : require_as_it_was(name)
      end
      require "guildhall/avro"
      {"snappy" => /gem snappy/, "zstandard" => /gem zstd-ruby/}.each do |compression, gem|
        Guildhall::Avro::Container::Compression.named(compression)
        raise "\#{compression} was there"
      rescue Guildhall::MissingDependencyError => error
        raise unless error.message.match?(gem)
      end
    RUBY
    file = write([]).sub("\x14avro.codec\x08null".b, "\x14avro.codec\x08nope".b)
    assert_match(/unknown compression/, assert_raises(Guildhall::DecodeError) { Container.each(file).to_a }.message)
  end

  def test_every_wrong_option_of_writing_is_named
    wrong = {compression: :deflate, block_bytes: "1", metadata: {"a" => 1}}
    error = assert_raises(Guildhall::ArgumentError) { Guildhall::Avro::Container.write(StringIO.new, "int", [1], **wrong) }
    wrong.each_key { |name| assert_includes error.message, name.to_s }
  end

  def test_many_objects_that_take_no_bytes
    file = StringIO.new("".b)
    Guildhall::Avro::Container.write(file, "null", [nil] * 70_000)
    assert_equal 70_000, Guildhall::Avro::Container.each(file.string).count
  end

  private

  def write(objects = OBJECTS, **)
    StringIO.new("".b).tap { |io| Container.write(io, SCHEMA, objects, **) }.string
  end

  def gem_file(compression)
    io = StringIO.new("".b)
    schema = AvroGem.parse(SCHEMA)
    writer = Avro::DataFile::Writer.new(io, Avro::IO::DatumWriter.new(schema), schema, compression)
    OBJECTS.each { |object| writer << object }
    writer.flush
    io.string
  end
end
