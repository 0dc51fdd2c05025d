# frozen_string_literal: true

require "test_helper"
require "guildhall/json"
require "guildhall/msgpack"

# Hashes whose keys came before are copies of one that has them: they must be what they would be, had they been filled key
# by key, and have nothing in common with each other.
class HashTemplateTest < GuildhallTest
  SIZES = [0, 1, 2, 3, 7, 8, 9, 10, 15, 16, 17, 31, 32, 33, 100, 127, 128, 129, 300].freeze

  def test_hashes_of_every_size
    each_codec do |codec|
      expected = SIZES.flat_map { |size| Array.new(5) { |turn| fill(size, turn) } }
      made = expected.map { |hash| codec.decode(codec.encode(hash)) }
      assert_equal expected, made
      made.zip(expected) do |hash, wanted|
        assert_equal wanted.keys, hash.keys
        wanted.each { |key, value| assert_equal [value], [hash[key]] }
        assert_nil hash["none"]
        assert Ractor.shareable?(hash)
      end
    end
  end

  def test_keys_in_another_order_or_number
    each_codec do |codec|
      20.times do |turn|
        hash = fill(12, turn)
        [hash, hash.to_a.reverse.to_h, hash.except("key 5"), hash.merge("more" => turn), hash.transform_keys { |key| "#{key}x" }].each do |variant|
          decoded = codec.decode(codec.encode(variant))
          assert_equal variant.to_a, decoded.to_a
        end
      end
    end
  end

  def test_a_copy_changes_nothing_else
    each_codec do |codec|
      [5, 20].each do |size|
        first, second = Array.new(4) { |turn| codec.decode(codec.encode(fill(size, turn))) }.last(2)
        copy = second.dup
        copy["key 1"] = :changed
        copy.delete("key 2")
        copy["new"] = 1
        assert_equal fill(size, 2), first
        assert_equal fill(size, 3), second
        assert_equal fill(size, 4), codec.decode(codec.encode(fill(size, 4)))
      end
    end
  end

  def test_equal_keys_in_one_map
    pack = Guildhall::MessagePack
    [2, 9, 20].each do |size|
      map = (size < 16 ? [0x80 | size].pack("C") : [0xde, size].pack("Cn")) + Array.new(size) { |i| pack.encode("key #{i / 2}") + pack.encode([i]) }.join
      5.times { assert_equal Array.new(size) { |i| ["key #{i / 2}", [i]] }.to_h, pack.decode(map) }
    end
  end

  def test_keys_that_are_no_texts
    keys = [1, 2**63, -1.5, nil, true, [1, ["a"]], {"a" => 1}, "bytes".b, "é", "e\u0301"]
    10.times { |turn| assert_equal keys.to_h { [it, turn] }, Guildhall::MessagePack.decode(Guildhall::MessagePack.encode(keys.to_h { [it, turn] })) }
  end

  def test_symbol_keys
    codec = Guildhall::JSON.new(symbolize_names: true)
    SIZES.each { |size| 4.times { |turn| assert_equal fill(size, turn).transform_keys(&:to_sym), codec.decode(codec.encode(fill(size, turn))) } }
  end

  # Values are written past Ruby: the collector has to find them all the same, old Hashes and young ones.
  def test_stress_and_compaction
    assert_equal "done", assert_ruby(<<~'RUBY', gems: false)
      require "guildhall/json"
      make = ->(size, turn) { (0...size).to_h { |i| ["key #{i}", ["v#{i}-#{turn}", {"n" => "w#{i}#{turn}"}]] } }
      texts = [3, 8, 9, 40].flat_map { |size| Array.new(4) { |turn| [make[size, turn], Guildhall::JSON.encode(make[size, turn])] } }
      kept = []
      GC.stress = true
      texts.each { |_, text| kept << Guildhall::JSON.decode(text) }
      GC.stress = false
      200.times do |turn|
        texts.each { |_, text| kept << Guildhall::JSON.decode(text) }
        GC.compact if GC.respond_to?(:compact) && turn % 40 == 0
        GC.start(full_mark: false) if turn % 10 == 0
      end
      GC.verify_internal_consistency
      kept.each_with_index { |hash, i| hash == texts[i % texts.size].first or abort("hash #{i}") }
      print :done
    RUBY
  end

  private

  def each_codec(&) = [Guildhall::JSON, Guildhall::MessagePack].each(&)

  def fill(size, turn) = (0...size).to_h { |i| ["key #{i}", [i, turn, "value #{turn}", [turn] * 3].fetch((i + turn) % 4)] }
end
