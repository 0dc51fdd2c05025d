# frozen_string_literal: true

require "fileutils"
require "json"
require "tmpdir"
require "test_helper"
require "support/database_server"
require "support/gem_installation"
require "support/optional_gems"
require_relative "rails/application"

# Jobs in transactions, with each version of Rails that the adapter works with. Its gems are installed here, the first time.
class JobsInTransactionsTest < GuildhallTest
  def self.apart? = true

  PROGRAM = File.expand_path("jobs/transactions.rb", __dir__)
  GEMS = GeneratedApplication::OTHERS.slice("karafka-rdkafka", "sqlite3", "minitest", "json")

  GeneratedApplication::VERSIONS.each do |name, version|
    define_method(:"test_rails_#{name.tr(".", "_")}") do
      variables = install(name, version)
      out, err, status = run_command([RbConfig.ruby, "-W0", PROGRAM, version], env: variables, timeout: 120)
      assert_predicate status, :success?, "#{out}\n#{err}"
      assert_match(/^ok/, out)
    end
  end

  private

  # @return [Hash{String=>String}] the environment of processes that load that version
  def install(name, version)
    gemfile = File.join(Environment::BUILD, "rails_#{name}", "Gemfile") # its lock file stands beside it
    variables = Environment.variables.merge("BUNDLE_GEMFILE" => gemfile)
    gems = {"activejob" => version, "activerecord" => version, **GEMS}
    text = ["source Gem.sources.first.uri.to_s", *gems.map { |gem, wanted| "gem #{gem.dump}, #{wanted.dump}" }].join("\n")
    GemInstallation.alone do
      FileUtils.mkdir_p(File.dirname(gemfile))
      File.write(gemfile, text) unless File.exist?(gemfile) && File.read(gemfile) == text
      next if run_command([RbConfig.ruby, "-e", ""], env: variables).last.success? # with Bundler's set-up, which wants all of them

      plain = variables.merge("RUBYOPT" => nil, "BUNDLER_SETUP" => nil)
      out, err, status = run_command([File.join(RbConfig::CONFIG["bindir"], "bundle"), "install", "--quiet"], env: plain, timeout: 300)
      skip "cannot reach the registry that has Rails #{version}:\n#{err}" if err.match?(OptionalGems::UNREACHABLE)

      assert_predicate status, :success?, "#{out}\n#{err}"
    end
    variables
  end
end

# Jobs that go through the outboxes of the databases that applications have: jobs/account.rb says what is tried, on a real broker.
class JobsOnDatabasesTest < GuildhallTest
  include OptionalGems

  def self.apart? = true

  ACCOUNT = File.expand_path("jobs/account.rb", __dir__)
  REAL = ENV.fetch("KAFKA_BOOTSTRAP_SERVERS", "")
  LIMIT = 600

  def test_account_on_sqlite
    Dir.mktmpdir { |folder| assert_account({adapter: "sqlite3", database: File.join(folder, "jobs.sqlite3"), timeout: 60_000, pool: 30}) }
  end

  def test_account_on_postgresql = account_on(:postgresql)
  def test_account_on_mariadb = account_on(:mariadb)

  private

  def account_on(kind)
    missing = DatabaseServer.missing(kind)
    skip missing if missing

    install_gems("databases")
    server = DatabaseServer.new(kind)
    assert_account({**server.settings, pool: 30})
  ensure
    server&.stop
  end

  def assert_account(database)
    skip "needs a real broker: set KAFKA_BOOTSTRAP_SERVERS" if REAL.empty?

    gems = database[:adapter] == "sqlite3" ? {} : OptionalGems.variables("databases")
    out, err, status = run_command([RbConfig.ruby, "-W0", ACCOUNT, REAL], timeout: LIMIT, env: {**gems, "DATABASE" => JSON.generate(database)})
    assert_predicate status, :success?, "#{out}\n#{err}"
    assert_match(/^ok/, out)
    puts out if ENV["CI"]
  end
end
