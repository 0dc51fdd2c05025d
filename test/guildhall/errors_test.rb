# frozen_string_literal: true

require_relative "../test_helper"
require "guildhall/kafka"
require "guildhall/striped_queue"

# Both rescues work: that of Guildhall::Error, and that of the class of Ruby's own that says the same.
class ErrorsTest < GuildhallTest
  OF_RUBY = {
    ArgumentError: ::ArgumentError, ConfigurationError: ::ArgumentError, TimeoutError: ::Timeout::Error, StuckError: ::Timeout::Error,
    PoolClosedError: ::IOError, ClosedQueueError: ::ClosedQueueError, NotShareableError: ::Ractor::Error,
    SignalTrapError: ::ThreadError
  }.freeze

  def test_every_error_class_is_a_standard_error_that_carries_the_module
    assert_operator all_errors.size, :>, 30
    all_errors.each do |error_class|
      assert_includes error_class.ancestors, Guildhall::Error, error_class.name
      assert_operator error_class, :<, StandardError
    end
  end

  def test_error_is_a_module
    assert_instance_of Module, Guildhall::Error
    assert_raises(Guildhall::Error) { Guildhall::JSON.decode("[") }
  end

  OF_RUBY.each do |name, of_ruby|
    define_method(:"test_#{name}_descends_from_rubys_own") do
      assert_operator Guildhall.const_get(name), :<, of_ruby
    end
  end

  def test_wrong_arguments_are_argument_errors_everywhere
    wrong = [-> { Guildhall::Queue.new(0) }, -> { Guildhall::Queue.new(1).pop(timeout: -1) }, -> { Guildhall::StripedQueue.new(1, stripes: 2) },
             -> { Guildhall::Queue.new(1).pop(true, timeout: 1) }, -> { Guildhall::Pool.new(workers: -1) },
             -> { Guildhall::JSON.new(max_nesting: -1) }, -> { Guildhall::MessagePack.new(max_nesting: -1) },
             -> { Guildhall::Text.new(encoding: "none") }, -> { Guildhall::Schema.new({}, draft: 1) }]
    wrong.each do |call|
      error = assert_raises(::ArgumentError, call.source_location.join(":"), &call)
      assert_kind_of Guildhall::ArgumentError, error
    end
  end

  def test_a_closed_queue_raises_rubys_error_and_ours
    queue = Guildhall::Queue.new(1).tap(&:close)
    assert_raises(::ClosedQueueError) { queue.push(1) }
    assert_raises(Guildhall::Error) { queue.push(1) }
  end

  def test_a_closed_queue_raises_in_a_ractor
    queue = Guildhall::Queue.new(1).tap(&:close)
    ractor = Ractor.new(queue) do |closed|
      closed.push(1)
    rescue Guildhall::Error => error
      error.class
    end
    assert_equal Guildhall::ClosedQueueError, ractor_value(ractor)
  end

  private

  # Ruby's own that share a name aside.
  def all_errors
    ObjectSpace.each_object(Class).select { |error| error < Exception && error.name&.start_with?("Guildhall::") }
  end
end
