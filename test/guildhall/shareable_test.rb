# frozen_string_literal: true

require "test_helper"

class ShareableTest < GuildhallTest
  Rule = Struct.new(:name, :options)

  def test_returns_what_is_shareable
    assert_equal 42, Guildhall::Shareable.check!(42)
    text = "frozen"
    assert_same text, Guildhall::Shareable.check!(text)
  end

  def test_names_the_path_to_what_is_not
    object = [1, {"rules" => Rule.new("a", [+"mutable"].freeze).freeze}.freeze].freeze
    error = assert_raises(Guildhall::NotShareableError) { Guildhall::Shareable.check!(object, "task") }
    assert_equal 'task[1]["rules"].options[0]', error.path
    assert_includes error.message, "String"
    assert_includes error.message, "freeze"
  end

  def test_follows_instance_variables
    holder = Object.new
    holder.instance_variable_set(:@list, [+""].freeze)
    holder.freeze
    error = assert_raises(Guildhall::NotShareableError) { Guildhall::Shareable.check!(holder, "validator") }
    assert_equal "validator.@list[0]", error.path
  end

  def test_survives_a_cycle
    cycle = []
    cycle << cycle
    assert_raises(Guildhall::NotShareableError) { Guildhall::Shareable.check!(cycle) }
  end

  def test_changes_nothing
    object = [+"mutable"]
    assert_raises(Guildhall::NotShareableError) { Guildhall::Shareable.check!(object) }
    refute_predicate object, :frozen?
    refute_predicate object.first, :frozen?
  end

  def test_makes_a_lambda_shareable
    factor = 3
    callable = Guildhall::Shareable.callable!(nil.instance_eval { ->(number) { number * factor } })
    assert Ractor.shareable?(callable)
    assert_equal 6, callable.call(2)
  end

  def test_names_the_variable_a_lambda_captures
    list = [+"mutable"]
    error = assert_raises(Guildhall::NotShareableError) do
      Guildhall::Shareable.callable!(nil.instance_eval { -> { list.size } }, "map")
    end
    assert_includes error.message, "list"
  end

  # Ruby 3.4 loses count of methods that several Ractors bind at once: here such a process crashed within a second.
  def test_questions_of_several_ractors_at_once
    assert_equal "[\"object.@list.default\"]", assert_ruby(<<~'RUBY', options: %w[-W0 -Ilib]).chomp
      require "guildhall/pool"
      class Holder < BasicObject
        def initialize = @list = ::Hash.new { 1 }
      end
      asking = Array.new(3) do
        Ractor.new { Array.new(30_000) { Guildhall::Shareable.find(Holder.new)[0] }.uniq }
      end
      puts asking.flat_map { |one| one.respond_to?(:value) ? one.value : one.take }.uniq.inspect
    RUBY
  end

  def test_bytes_of_their_own
    whole = +("x" * 10_000)
    [whole, whole[5_000..], whole[0, 10], "ä".dup, "\xff".b, +"", Class.new(String).new("own"), "a".encode("UTF-16LE"), "frozen", whole[100..].freeze].each do |string|
      frozen = string.frozen?
      bytes = Guildhall::Shareable.bytes(string)
      assert_equal [string.b, string.encoding], [bytes.b, bytes.encoding]
      assert Ractor.shareable?(bytes)
      assert_equal frozen, string.frozen?
      next if frozen

      before = bytes.dup
      string << "more".encode(string.encoding)
      assert_equal before, bytes
    end
    assert_raises(TypeError) { Guildhall::Shareable.bytes(nil) }
  end
end
