# frozen_string_literal: true

require "test_helper"

# Class variables of I18n are there before the first Ractor, where Ruby would end the process otherwise.
class PoolI18nWorkaroundTest < GuildhallTest
  SCRIPT = <<~RUBY
    require "guildhall"
    require "guildhall/json"
    require "i18n"
    Guildhall.pool.map(%w[1 2], Guildhall::JSON, parallel: true)
    I18n.load_path
    I18n.backend.store_translations(:en, {hello: "Hello %{name}"})
    print(I18n.t(:hello, name: "Ada"), " ", I18n.available_locales.inspect, " ", I18n.default_separator, " ", I18n.load_path.size)
  RUBY

  def test_i18n_is_used_for_the_first_time_beside_workers
    out, err, status = run_command([RbConfig.ruby, "-e", SCRIPT])
    assert_predicate status, :success?, err
    assert_match(/\AHello Ada \[:en\b.*\] \. \d+\z/, out)
  end

  # The application has made a Ractor, which has ended, and has loaded Active Record: loading more of it would end the process.
  LATE = <<~RUBY
    Ractor.new { 1 }.then { it.respond_to?(:value) ? it.value : it.take }
    GC.start
    require "active_record"
    require "guildhall"
    require "guildhall/json"
    print(Guildhall.pool.map(%w[1 2], Guildhall::JSON, parallel: true).inspect)
  RUBY

  def test_nothing_is_loaded_after_the_first_ractor
    out, err, status = run_command([RbConfig.ruby, "-W0", "-e", LATE])
    assert_predicate status, :success?, err.lines.first(3).join
    assert_equal "[1, 2]", out
  end
end
