# frozen_string_literal: true

require "test_helper"
require "guildhall/avro"

class AvroContainerInputTest < GuildhallTest
  def input(bytes) = Guildhall::Avro::Container::Input.new(bytes)

  def test_reads_in_order_and_knows_where_it_is
    source = input("abc")
    assert_equal ["ab", 2, false], [source.read(2), source.offset, source.end?]
    assert_equal ["c", true], [source.read(1), source.end?]
  end

  def test_numbers_of_any_length
    {[0] => 0, [1] => -1, [2] => 1, [0xAC, 2] => 150, [*[0xFF] * 9, 1] => -(2**63), [0xFE, *[0xFF] * 8, 1] => (2**63) - 1}
      .each { |bytes, number| assert_equal number, input(bytes.pack("C*")).number, bytes.inspect }
  end

  def test_what_is_cut_off_or_out_of_range
    {[:read, "ab", 3] => "unexpected end of input", [:read, "ab", -1] => "a length of -1 bytes", [:number, "\x80"] => "unexpected end of input",
     [:number, "\xFF" * 10] => "number beyond the range", [:number, ([0xFF] * 9 + [2]).pack("C*")] => "number beyond the range"}.each do |(method, bytes, *arguments), message|
      error = assert_raises(Guildhall::DecodeError) { input(bytes.b).public_send(method, *arguments) }
      assert_includes error.message, message
    end
    assert_raises(Guildhall::DecodeError) { input("abc").read(3, 2) }
  end
end
