# frozen_string_literal: true

require "test_helper"

# What the extension takes for granted of Ruby's inside (ext/guildhall/assumptions.c): tested when it is loaded.
class AssumptionsTest < GuildhallTest
  SHORTCUTS = %i[hash_templates].freeze
  ALL = Guildhall.const_source_location(:ASSUMPTIONS) && Guildhall.send(:const_get, :ASSUMPTIONS)
  WORK = <<~'RUBY'
    require "guildhall/json"
    require "guildhall/msgpack"
    orders = Array.new(40) { |id| {"id" => id, "user" => {"name" => "n#{id}", "tags" => ["a", id]}, **(0...20).to_h { ["k#{it}", it * id] }} }
    [Guildhall::JSON, Guildhall::MessagePack].each do |codec|
      texts = orders.map { |order| codec.encode(order).freeze }
      3.times do
        texts.zip(orders) do |text, order|
          abort("decode") unless codec.decode(text) == order && Ractor.shareable?(codec.decode(text))
          abort("document") unless codec.document(text)["user"]["tags"].to_a == order["user"]["tags"]
        end
        GC.start
      end
    end
    GC.verify_internal_consistency
    print Guildhall.send(:const_get, :ASSUMPTIONS).reject { |_, holds| holds }.keys.join(" ")
  RUBY

  def test_all_hold_on_the_rubies_that_we_support
    assert_equal({}, ALL.reject { |_, holds| holds })
    assert Ractor.shareable?(ALL)
  end

  def test_without_any_shortcut
    assert_equal SHORTCUTS.join(" "), assert_ruby(WORK, env: {"GUILDHALL_DISTRUST" => SHORTCUTS.join(",")})
  end

  def test_a_ruby_that_it_is_not_proved_on_is_refused
    _, err, status = run_ruby(WORK, env: {"GUILDHALL_DISTRUST" => "proved"})
    refute_predicate status, :success?
    assert_match(/not proved on Ruby #{RUBY_VERSION}, and could corrupt memory there: use Ruby 3.4 or 4.0, .*\(LoadError\)/m, err)
  end

  def test_which_rubies_are_proved
    fits = ->(version, env) { assert_ruby(<<~RUBY, version, env: {"GUILDHALL_UNPROVED_RUBY" => env, "RUBYOPT" => nil, "BUNDLER_SETUP" => nil}) == "true" }
      load "lib/guildhall/version.rb"
      print Gem::Requirement.new(Guildhall::RUBIES).satisfied_by?(Gem::Version.new(ARGV.first))
    RUBY
    versions = %w[3.3.9 3.4.0 3.4.5 4.0.5 4.0.99 4.1.0.preview1 4.1.0.dev 4.1.0 5.0.0]
    assert_equal %w[3.4.0 3.4.5 4.0.5 4.0.99], versions.select { |version| fits.call(version, nil) }
    assert_equal versions.drop(1), versions.select { |version| fits.call(version, "1") }
    Dir["*.gemspec"].each { |path| assert_equal Gem::Requirement.new(Guildhall::RUBIES), Gem::Specification.load(path).required_ruby_version }
  end

  def test_without_what_there_is_no_other_way_for
    needed = ALL.keys - SHORTCUTS
    assert_operator needed.size, :>, 4
    needed.each do |name|
      _, err, status = run_ruby(WORK, env: {"GUILDHALL_DISTRUST" => name.to_s})
      refute_predicate status, :success?
      assert_match(/does not know the inside of Ruby #{RUBY_VERSION} \(#{name};.*\(LoadError\)/m, err)
    end
  end
end
