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

  # A folder with two files that Zeitwerk finds, and a task that needs them.
  SHOP = <<~RUBY
    require "guildhall/pool"
    require "zeitwerk"
    Warning[:experimental] = false
    Dir.mkdir("app") unless Dir.exist?("app")
    File.write("app/price.rb", "class Price; def self.of(count) = count * Rate::CENTS; end")
    File.write("app/rate.rb", "module Rate; CENTS = 2; end")
    Zeitwerk::Loader.new.tap { |loader| $loader = loader; loader.push_dir(File.expand_path("app")); loader.enable_reloading; loader.setup }
    module Shop; def self.call(count) = Price.of(count); end
    pool = Guildhall::Pool.new(workers: 2)
    loaded = -> { $LOADED_FEATURES.count { |path| path.include?("/app/") } }
  RUBY

  def in_a_folder(code)
    Dir.mktmpdir { |folder| assert_ruby("Dir.chdir(ARGV[0])\n#{code}", folder) }
  end

  def test_zeitwerk_loads_at_warm_up_and_again_after_a_reload
    out = in_a_folder(<<~RUBY)
      #{SHOP}
      pool.warm_up(Shop)
      p loaded.call, pool.map([1, 2], Shop, parallel: true)
      File.write("app/rate.rb", "module Rate; CENTS = 3; end")
      $loader.reload
      pool.warm_up(Shop)
      p pool.map([1, 2], Shop, parallel: true)
    RUBY
    assert_equal "2\n[2, 4]\n[3, 6]\n", out
  end

  def test_bootsnap_makes_no_difference
    out = in_a_folder(<<~RUBY)
      require "bootsnap"
      Bootsnap.setup(cache_dir: "cache", development_mode: true, load_path_cache: true, compile_cache_iseq: true, compile_cache_yaml: false)
      #{SHOP}
      pool.warm_up(Shop)
      p loaded.call, pool.map([1, 2], Shop, parallel: true), Dir["cache/**/*"].any? { |path| File.file?(path) }
    RUBY
    assert_equal "2\n[2, 4]\ntrue\n", out
  end

  def test_what_was_not_warmed_up_is_loaded_by_the_main_ractor_while_it_waits
    assert_equal "[2, 4]\n", in_a_folder("#{SHOP}\np pool.map([1, 2], Shop, parallel: true)")
  end

  module Lost
    def self.call(_payload) = Nowhere.at_all
  end

  def test_a_constant_that_is_not_there_is_named_with_what_to_do
    pool = Guildhall::Pool.new(workers: 1)
    failure = pool.results(%w[a], Lost, parallel: true).first
    assert_equal "NameError", failure.error_class
    assert_match(/uninitialized constant .*Nowhere; pool\.warm_up\(task\) loads/, failure.message)
    refute_includes pool.results(%w[a], Lost, parallel: false).first.message, "warm_up"
    assert_output("", /warm_up of PoolLoadingTest::Lost could not load Nowhere/) { pool.warm_up(Lost) }
  ensure
    pool.shutdown
  end

  def test_warm_up_runs_samples_in_the_main_ractor
    pool = Guildhall::Pool.new(workers: 1)
    assert_same pool, pool.warm_up(Module.new { def self.call(text) = text.upcase }, %w[a])
    assert_predicate pool, :workers?
    [Object.new, 5, nil].each { |task| assert_raises(Guildhall::ArgumentError) { pool.warm_up(task) } }
    assert_raises(Guildhall::ArgumentError) { pool.warm_up(Guildhall::Text, 5) }
    pool.warm_up(Module.new { def self.call(text, metadata) = [text, metadata] }, %w[a])
  ensure
    pool.shutdown
  end
end
