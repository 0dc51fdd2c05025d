# frozen_string_literal: true

require "test_helper"
require "guildhall/errors"
require "guildhall/option_rules"

class OptionRulesTest < GuildhallTest
  Rules = Guildhall::OptionRules
  RULES = Rules.new("setting", workers: Rules.integer(0..8), capacity: Rules.integer.or(nil), parallel: Rules.one_of(true, false, nil),
    deadline: Rules.seconds, wait: Rules.seconds(zero: true), logger: Rules.object("a Logger", :info), kafka: Rules.kind("a Hash", Hash),
    bytes: Rules.bytes,
    class: Rules.rule("a class") { |value| value.is_a?(Class) && (value == String ? "cannot be String" : true) })

  # By option: what is allowed, and what is not with the message.
  CASES = {
    workers: [[0, 8], {-1 => "must be an Integer from 0 to 8, not -1", 9 => "must be an Integer from 0 to 8, not 9", 1.0 => "not 1.0"}],
    capacity: [[1, nil], {0 => "must be an Integer ≥ 1, or nil, not 0", "1" => 'not "1"', 2**31 => "must be at most 2147483647, not 2147483648"}],
    parallel: [[true, false, nil], {1 => "must be true, false or nil, not 1"}],
    deadline: [[0.1, 1, 2r], {0 => "must be a finite number > 0 (seconds), not 0", Float::INFINITY => "not Infinity", 1i => "not (0+1i)"}],
    wait: [[0, 1], {-1 => "must be a finite number ≥ 0 (seconds), not -1", Float::NAN => "not NaN"}],
    logger: [[Struct.new(:info).new], {nil => "must be a Logger, not nil"}],
    kafka: [[{}], {[] => "must be a Hash, not []"}],
    bytes: [[2**31, 2**40], {0 => "must be an Integer ≥ 1, not 0", 10**30 => "must be at most 1099511627776, not 1000000"}],
    class: [[Integer], {1 => "must be a class, not 1", String => "class cannot be String"}]
  }.freeze

  CASES.each do |name, (right, wrong)|
    define_method(:"test_#{name}") do
      right.each { |value| assert_empty RULES.errors({name => value}) }
      wrong.each { |value, message| assert_includes RULES.errors({name => value}).fetch(0), message }
    end
  end

  def test_reports_everything_together_and_what_was_meant
    error = assert_raises(Guildhall::ConfigurationError) do
      RULES.check!({workers: -1, wrokers: 2, zzz: 3, kafka: {}}, owner: "pool", error: Guildhall::ConfigurationError)
    end
    assert_equal "pool: workers must be an Integer from 0 to 8, not -1; unknown setting wrokers; did you mean workers?; " \
                 "unknown setting zzz; there are #{CASES.keys.join(", ")}", error.message
  end

  def test_a_method_may_allow_some_of_them
    assert_equal ["unknown setting kafka; there are workers, wait"], RULES.errors({workers: 1, kafka: {}}, names: %i[workers wait])
  end

  # What a method takes beside them is an option as well.
  class Both
    def initialize(_place, workers:, name: nil, **options)
      RULES.check!(options, beside: Both, names: [:wait])
    end
  end

  def test_names_that_the_caller_has_beside_them
    assert_equal "unknown setting zzz; there are workers, name, wait", assert_raises(Guildhall::ArgumentError) { Both.new(1, workers: 1, zzz: 2) }.message
    assert_equal "unknown setting nmae; did you mean name?", assert_raises(Guildhall::ArgumentError) { Both.new(1, workers: 1, nmae: 2) }.message
  end

  def test_returns_the_values
    assert_equal({workers: 2}, RULES.check!({workers: 2}))
  end

  def test_in_any_ractor
    assert_ruby(<<~'RUBY')
      require "guildhall/errors"
      require "guildhall/option_rules"
      Warning[:experimental] = false
      RULES = Guildhall::OptionRules.new(a: Guildhall::OptionRules.integer.or(nil), b: Guildhall::OptionRules.one_of(:x, "y"))
      errors = Ractor.new { RULES.errors({a: 0, b: "y", aa: 1}) }
      errors = errors.respond_to?(:value) ? errors.value : errors.take
      abort(errors.inspect) unless errors == ["a must be an Integer ≥ 1, or nil, not 0", "unknown option aa; did you mean a?"]
    RUBY
  end

  class Settings
    include Guildhall::OptionRules::Assigned

    attr_accessor :workers

    def errors = setting_errors(RULES, prefix: "config.")

    RULES = Rules.new("setting", workers: Rules.integer)
  end

  def test_assignments_to_settings_that_do_not_exist_are_reported_with_the_rest
    settings = Settings.new
    settings.wrokers = 3
    assert_equal ["config.workers must be an Integer ≥ 1, not nil", "unknown setting config.wrokers; did you mean workers?"], settings.errors
    error = assert_raises(NoMethodError) { settings.wrokers.count }
    assert_equal "unknown setting wrokers; did you mean workers? (#{__FILE__}:#{__LINE__ - 1})", error.message
    assert_kind_of Guildhall::Error, error
    assert_raises(NoMethodError) { settings.wrokers?(1) }
    refute_respond_to settings, :wrokers=
  end
end
