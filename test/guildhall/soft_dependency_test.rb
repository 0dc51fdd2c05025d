# frozen_string_literal: true

require "test_helper"
require "guildhall/soft_dependency"
require "tmpdir"

class SoftDependencyTest < GuildhallTest
  def need(feature) = Guildhall::SoftDependency.require!(feature, gem: "some-gem", purpose: "this test")

  def test_what_is_there_is_loaded
    refute_nil Guildhall::SoftDependency.require!("json", gem: "json", purpose: "this test")
  end

  def test_what_is_missing_is_named_with_the_line_for_the_gemfile
    error = assert_raises(Guildhall::MissingDependencyError) { need("a_gem_that_is_not_there") }
    assert_equal 'this test needs the gem some-gem: add `gem "some-gem"` to the Gemfile', error.message
    refute_kind_of LoadError, error
  end

  def test_what_the_gem_itself_misses_is_not_taken_for_the_gem
    Dir.mktmpdir do |folder|
      File.write(File.join(folder, "broken_gem.rb"), 'require "another_one_that_is_not_there"')
      $LOAD_PATH.unshift(folder)
      error = assert_raises(LoadError) { need("broken_gem") }
      assert_equal "another_one_that_is_not_there", error.path
    ensure
      $LOAD_PATH.delete(folder)
    end
  end
end
