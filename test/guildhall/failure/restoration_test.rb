# frozen_string_literal: true

require "test_helper"
require "guildhall/pool"

# Exceptions that are made again of Failures.
class FailureRestorationTest < GuildhallTest
  class Particular < StandardError
    attr_reader :code

    def initialize(first, second)
      @code = first + second
      super("code #{@code}")
    end
  end

  def failure
    yield
  rescue Exception => error # rubocop:disable Lint/RescueException -- any error
    Guildhall::Failure.of(error, 3)
  end

  def restore(failure, **) = Guildhall::Failure::Restoration.new(failure, **).exception

  def test_has_the_class_the_message_the_details_and_the_backtrace
    failure = failure { raise Particular.new(1, 2) }
    error = restore(failure)
    assert_equal [Particular, "code 3", 3, failure.backtrace], [error.class, error.message, error.code, error.backtrace]
  end

  def test_says_which_payload_it_was
    error = restore(failure { raise KeyError, "no key" }, numbered: true)
    assert_equal ["no key (payload 3)", 3], [error.message, error.payload_index]
    assert_kind_of Guildhall::PayloadError, error
  end

  def test_errors_of_ruby_keep_what_they_know
    assert_equal [3, "exit"], restore(failure { exit 3 }).then { |error| [error.status, error.message] }
    assert_equal :b, restore(failure { {a: 1}.fetch(:b) }).key
    assert_equal :nowhere, restore(failure { 1.nowhere }, numbered: true).name
  end

  def test_errors_of_the_system_are_rescued_by_their_number
    error = restore(failure { raise Errno::ENOENT, "file" })
    assert_equal [Errno::ENOENT, Errno::ENOENT::Errno], [error.class, error.errno]
    assert_includes error.message, "file"
  end

  def test_causes
    failure = failure do
      raise IOError, "inner"
    rescue IOError
      raise KeyError, "outer"
    end
    error = restore(failure)
    assert_equal [KeyError, IOError, "inner"], [error.class, error.cause.class, error.cause.message]
  end

  def test_a_class_that_is_not_known_here
    error = restore(failure { raise Class.new(StandardError), "odd" })
    assert_instance_of Guildhall::TaskError, error
    assert_includes error.message, "odd"
  end
end
