# frozen_string_literal: true

require "json"
require "test_helper"
require "support/database_server"
require "support/optional_gems"

# The guide's consumer on the databases that applications have, and a real broker: bulk_upserts/account.rb says what is tried.
class BulkUpsertsTest < GuildhallTest
  include OptionalGems

  def self.apart? = true

  ACCOUNT = File.expand_path("bulk_upserts/account.rb", __dir__)
  GUIDE = File.expand_path("bulk_upserts/guide.rb", __dir__)
  REAL = ENV.fetch("KAFKA_BOOTSTRAP_SERVERS", "")
  LIMIT = 600

  def test_account_on_postgresql = account_on(:postgresql)
  def test_account_on_mariadb = account_on(:mariadb)

  # The guide's test, word for word but for what it says of MariaDB.
  def test_the_guides_example_on_mariadb
    with_server(:mariadb) do |server|
      out, err, status = run_command([RbConfig.ruby, "-W0", GUIDE], env: environment(server))
      assert_equal ["", true], [out, status.success?], err
    end
  end

  private

  def account_on(kind)
    skip "needs a real broker: set KAFKA_BOOTSTRAP_SERVERS" if REAL.empty?

    with_server(kind) do |server|
      out, err, status = run_command([RbConfig.ruby, "-W0", ACCOUNT, REAL], timeout: LIMIT, env: environment(server))
      assert_predicate status, :success?, "#{out}\n#{err}"
      assert_match(/^ok/, out)
      puts out if ENV["CI"]
    end
  end

  def environment(server) = OptionalGems.variables("databases").merge("DATABASE" => JSON.generate({**server.settings, pool: 10}))

  def with_server(kind)
    missing = DatabaseServer.missing(kind)
    skip missing if missing

    install_gems("databases")
    server = DatabaseServer.new(kind)
    yield(server)
  ensure
    server&.stop
  end
end
