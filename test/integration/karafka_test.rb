# frozen_string_literal: true

require "fileutils"
require "test_helper"
require "support/gem_installation"
require_relative "support/scenario_tests"
require_relative "../../tool/environment"

# Applications of the gem karafka run and say that all is well.
module KarafkaApplications
  LIMIT = 120 # seconds

  private

  def assert_application(path, env: {})
    out, err, status = run_command([RbConfig.ruby, path], timeout: LIMIT, env:)
    assert_predicate status, :success?, "#{File.basename(path)}: #{status}\n#{out}\n#{err}"
    assert_match(/^ok/, out)
  end
end

# The plug-in in applications of the gem karafka, which are processes of their own: see test/integration/karafka. On the broker that
# KAFKA_BOOTSTRAP_SERVERS names, or else on the embedded one.
class KarafkaTest < GuildhallTest
  include KarafkaApplications

  def self.apart? = true

  APPLICATIONS = Dir[File.expand_path("karafka/*.rb", __dir__)]

  APPLICATIONS.each do |path|
    name = File.basename(path, ".rb")
    class_eval(<<~RUBY, __FILE__, __LINE__ + 1)
      def test_#{name} = assert_application(#{path.inspect}) # def test_order = assert_application(".../order.rb")
    RUBY
  end
end

# What depends on Karafka's interfaces, with the oldest version that the plug-in works with. Its gems are installed here, the first time.
class OldestKarafkaTest < GuildhallTest
  include KarafkaApplications

  def self.apart? = true

  GEMFILE = File.join(Environment::BUILD, "karafka_2_5", "Gemfile") # its lock file stands beside it
  VARIABLES = Environment.variables.merge("BUNDLE_GEMFILE" => GEMFILE).freeze

  def test_version
    install
    out, = run_command([RbConfig.ruby, "-e", "require 'karafka'; print Karafka::VERSION"], timeout: LIMIT, env: VARIABLES)
    assert_equal "2.5.9", out
  end

  %w[active_job errors_and_retries off parallel rebalance removed swarm].each do |name|
    define_method(:"test_#{name}") do
      install
      assert_application(File.expand_path("karafka/#{name}.rb", __dir__), env: VARIABLES)
    end
  end

  private

  # Waits for another process that installs them.
  def install
    FileUtils.mkdir_p(File.dirname(GEMFILE))
    GemInstallation.alone do
      text = "eval_gemfile #{File.expand_path("support/karafka_2_5.gemfile", __dir__).dump}\n"
      File.write(GEMFILE, text) unless File.exist?(GEMFILE) && File.read(GEMFILE) == text
      next if run_command([RbConfig.ruby, "-e", ""], env: VARIABLES).last.success? # with Bundler's set-up, which wants all of them

      bundle = File.join(RbConfig::CONFIG["bindir"], "bundle")
      out, err, status = run_command([bundle, "install", "--quiet"], env: VARIABLES.merge("RUBYOPT" => nil, "BUNDLER_SETUP" => nil), timeout: 300)
      assert_predicate status, :success?, "#{out}\n#{err}"
    end
  end
end
