# frozen_string_literal: true

require "test_helper"
require "timeout"
require "guildhall/pool"
require "support/number_cases"

# Numbers that stand for thousands of millions of digits, or have millions: each ends at once, with a value or an error that says why.
class HostileNumbersTest < GuildhallTest
  include Subprocess

  # In a process that is killed when it takes too much: what makes such a number cannot be interrupted.
  PATHS = <<~'RUBY'
    Process.setrlimit(:CPU, 120)
    require "support/number_cases"
    NumberCases::PATHS.each do |name, (path, expected)|
      $stdout.puts name
      $stdout.flush
      got = begin
        path.call
      rescue StandardError => error
        error
      end
      right = expected.is_a?(Array) && expected.first.is_a?(Class) ? got.is_a?(expected.first) && got.message.include?(expected.last) : got == expected
      abort "#{name}: #{got.inspect[0, 300]}, not #{expected.inspect[0, 300]}" unless right
    end
  RUBY

  def test_every_path_ends
    assert_equal NumberCases::PATHS.size, assert_ruby(PATHS, timeout: 240, options: ["-I", __dir__.delete_suffix("/guildhall")]).lines.size
  end

  def test_decoding_by_class
    NumberCases::CLASSES.each do |type|
      codec = Guildhall::JSON.new(decimal_class: type)
      NumberCases::REFUSED.each do |text|
        errors = [codec, codec.lazy].map { |one| assert_raises(Guildhall::JSON::ParseError) { one.call("[1,#{text}]") } }
        errors << assert_raises(Guildhall::JSON::ParseError) { codec.each_document("[1,#{text}]").to_a }
        errors.each { |error| assert_equal [3, "a number that has, written out, more digits than max_digits, 10000"], [error.offset, error.reason] }
      end
      NumberCases::ACCEPTED.each { |text| assert_equal codec.decode("[#{text}]"), codec.document("[#{text}]").decode }
    end
    assert_equal NumberCases::ACCEPTED.map { BigDecimal(it) }, NumberCases::DECIMALS.decode("[#{NumberCases::ACCEPTED.join(",")}]")
    NumberCases::REFUSED.each { |text| assert_kind_of Float, Guildhall::JSON.decode("[#{text}]").first }
  end

  # Wherever a number ends: numbers are read by words, by vectors and by bytes.
  def test_the_limit_is_exact
    codec = Guildhall::JSON.new(decimal_class: BigDecimal, max_digits: 17)
    ["]", ",1]", "#{" " * 60}]"].each do |rest|
      %w[1.2345678901234567 12345678901234567 1234567890.1234567 1e16 1e-16 123e14].each { |text| assert codec.decode("[#{text}#{rest}") }
      %w[1.23456789012345678 123456789012345678 12345678901.1234567 1e17 1e-17 1234e14].each do |text|
        assert_raises(Guildhall::JSON::ParseError, text) { codec.decode("[#{text}#{rest}") }
      end
    end
  end

  def test_what_is_encoded_can_be_decoded
    codec = NumberCases::DECIMALS
    {"1e9999" => "0.1e10000", "-1.5e-9000" => "-0.15e-8999", "1e300" => "1#{"0" * 300}.0", "1e-399" => "0.#{"0" * 398}1", "123.45" => "123.45"}.each do |text, written|
      number = BigDecimal(text)
      assert_equal "[#{written}]", codec.encode([number])
      assert_equal [number], codec.decode(codec.encode([number]))
    end
    most = 10**9_999
    assert_equal [most, -most], codec.decode(codec.encode([most, -most]))
    assert_raises(Guildhall::JSON::EncodeError) { codec.encode([10 * most]) }
    assert_equal [10 * most], Guildhall::JSON.new(max_digits: 10_001).then { |wide| wide.decode(wide.encode([10 * most])) }
  end

  def test_active_support_does_not_write_it_out
    assert_equal "[\"0.1e1000000000\",\"12.5\"]", assert_ruby(<<~'RUBY')
      Process.setrlimit(:CPU, 60)
      require "bigdecimal"
      require "active_support"
      require "active_support/core_ext/object/json"
      require "active_support/core_ext/big_decimal/conversions"
      require "guildhall/json"
      print Guildhall::JSON.encode([BigDecimal("1e999999999"), BigDecimal("12.5")])
    RUBY
  end

  # A Document's verdict is that of what it decodes to.
  def test_verdicts_of_documents
    codec = NumberCases::DECIMALS
    text = "[1e400,0.30000000000000000001,0.3,1e-400,1.0,123456789012345678901234567890.5]"
    [{"type" => "integer"}, {"multipleOf" => 0.1}, {"maximum" => 0.3}, {"enum" => [0.3, 1]}, {"minimum" => BigDecimal("1e-400")}].each do |schema|
      validator = Guildhall::Schema.new({"items" => schema}).validator
      assert_equal validator.errors(codec.decode(text)).map(&:to_s), validator.errors(codec.document(text)).map(&:to_s), schema.inspect
    end
  end

  def test_in_a_pool_with_a_deadline
    payloads = ["{\"id\":1e999999999}", "{\"id\":1e9999}", "{\"id\":1.5}"]
    contract = Guildhall::Schema.contract { required "id", Integer }.validator
    Guildhall::Pool.open(workers: 1) do |pool|
      [NumberCases::DECIMALS, NumberCases::DECIMALS.lazy].each do |codec|
        results = pool.dispatch(payloads, codec >> contract).results(timeout: 60)
        failed, passed, invalid = results
        assert_equal ["Guildhall::JSON::ParseError", "Guildhall::ValidationError"], [failed, invalid].map(&:error_class)
        assert_equal BigDecimal("1e9999"), passed["id"]
        error = assert_raises(Guildhall::JSON::ParseError) { pool.map(payloads, codec >> contract, timeout: 60) }
        assert_includes error.message, "max_digits, 10000"
      end
    end
  end

  NumberCases::GROWING.each_key do |name|
    define_method(:"test_#{name.tr(" ,'", "_")}") do
      payload, work = NumberCases::GROWING.fetch(name)
      Timeout.timeout(60) { [2_000, 400_000].each { |bytes| work.call(payload.call(bytes)) } }
    end
  end
end
