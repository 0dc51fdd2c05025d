# frozen_string_literal: true

require "test_helper"

# The examples that the guides show, as a reader would run them.
class ExamplesTest < GuildhallTest
  def test_kafka
    out, err, status = run_command([RbConfig.ruby, "examples/kafka.rb"])
    assert_predicate status, :success?, err
    assert_equal "paid: 140", out.lines(chomp: true).last
    assert_equal 3, out.scan("thirteen brings bad luck").size
  end
end
