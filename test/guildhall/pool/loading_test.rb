# frozen_string_literal: true

require "test_helper"
require "guildhall/pool"
require "tmpdir"

# What a task's code names is loaded in the main Ractor before a worker needs it.
class PoolLoadingTest < GuildhallTest
  def test_warm_up_resolves_autoloads
    Dir.mktmpdir do |folder|
      File.write("#{folder}/price.rb", "class Shop; Price = Data.define(:cents) { def double = Rate::TWO * cents }; end")
      File.write("#{folder}/rate.rb", "class Shop; module Rate; TWO = 2; end; end")
      out = assert_ruby(<<~RUBY, folder)
        require "guildhall/pool"
        class Shop
          autoload :Price, ARGV[0] + "/price"
          autoload :Rate, ARGV[0] + "/rate"
          def self.call(payload) = Price.new(cents: payload).double
        end
        pool = Guildhall::Pool.new(workers: 1)
        pool.warm_up(Shop)
        puts $LOADED_FEATURES.count { |path| path.start_with?(File.realpath(ARGV[0])) }
        puts pool.map([21], Shop, parallel: true).inspect
      RUBY
      assert_equal "2\n[42]\n", out
    end
  end

  def test_warm_up_runs_samples_in_the_main_ractor
    pool = Guildhall::Pool.new(workers: 1)
    assert_same pool, pool.warm_up(Module.new { def self.call(text) = text.upcase }, %w[a])
    assert_predicate pool, :workers?
    assert_raises(Guildhall::ArgumentError) { pool.warm_up(Object.new) }
  ensure
    pool.shutdown
  end
end
