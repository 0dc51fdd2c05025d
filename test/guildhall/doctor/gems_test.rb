# frozen_string_literal: true

require "test_helper"

# In a process of their own, because gems change Ruby's classes (Active Support those that are written as JSON).
class DoctorGemsTest < GuildhallTest
  def test_gems_as_people_use_them
    out = assert_ruby(<<~RUBY, timeout: 240)
      $LOAD_PATH.unshift("test")
      require "test_helper"
      require "support/doctor_gems"
      require "minitest/autorun"
    RUBY
    assert_match(/[1-9]\d* runs, \d+ assertions, 0 failures, 0 errors/, out)
  end
end
