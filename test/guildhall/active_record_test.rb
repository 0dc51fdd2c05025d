# frozen_string_literal: true

require "test_helper"

# Documents in a Rails application: models, parameters, caches, validations.
class ActiveRecordTest < GuildhallTest
  PROGRAM = File.expand_path("../support/rails_program.rb", __dir__)

  def test_rails_does_the_same_with_documents
    assert_equal "", assert_ruby("load #{PROGRAM.dump}", timeout: 120, options: ["-W0"])
  end

  def test_loads_itself_when_active_record_does
    asks = "p defined?(Guildhall::ActiveRecord)"
    assert_equal %("constant"\n), assert_ruby("require \"active_support\"; require \"guildhall/json\"; require \"active_record\"; ActiveRecord::Base; #{asks}", options: ["-W0"])
    assert_equal %("constant"\n), assert_ruby("require \"guildhall/json\"; require \"guildhall/active_record\"; #{asks}", options: ["-W0"])
    assert_equal "nil\n", assert_ruby("require \"guildhall\"; #{asks}")
  end
end
