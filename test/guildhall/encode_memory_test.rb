# frozen_string_literal: true

require "test_helper"

# What encoders write grows in memory that is twice the result at most, and that the collector does not look into.
class EncodeMemoryTest < GuildhallTest
  def test_what_a_long_result_takes_meanwhile
    skip "AddressSanitizer takes memory of its own" unless ENV.fetch("GUILDHALL_SANITIZE", "").empty?
    skip "no /proc here" unless File.exist?("/proc/self/status")
    grown = assert_ruby(<<~'RUBY').to_f
      require "guildhall/msgpack"
      most = -> { File.read("/proc/self/status")[/^VmPeak:\s+(\d+)/, 1].to_i * 1024 }
      rows = Array.new(90_000) { "x" * 100 }.each(&:freeze).freeze
      Guildhall::MessagePack.encode(rows.first(100))
      GC.start
      GC.disable
      before = most.call
      result = Guildhall::MessagePack.encode(rows)
      print (most.call - before) / result.bytesize.to_f
    RUBY
    assert_operator grown, :<, 3.0, "times the result"
  end

  def test_a_result_keeps_no_room_that_it_does_not_need
    require "objspace"
    require "guildhall/msgpack"
    [100, 8_000, 9_000, 70_000, 1_000_000].each do |size|
      result = Guildhall::MessagePack.encode("x" * size)
      assert_predicate result, :frozen?
      assert_operator ObjectSpace.memsize_of(result), :<, (size * 1.05) + 2_100
    end
  end

  # An exception passes through: what was written so far is the collector's. In a process of its own: a shareable Proc that has matched a
  # regular expression, in any other test, is inconsistent for Ruby 4.0.
  def test_an_error_in_the_middle_leaves_nothing
    assert_ruby(<<~'RUBY')
      require "guildhall/msgpack"
      rows = [*Array.new(1000) { "x" * 100 }, Object.new].freeze
      200.times do
        Guildhall::MessagePack.encode(rows)
        abort("no error")
      rescue Guildhall::Error, TypeError
        next
      end
      GC.verify_internal_consistency
    RUBY
  end
end
