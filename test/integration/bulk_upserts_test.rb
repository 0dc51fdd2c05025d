# frozen_string_literal: true

require "json"
require "test_helper"
require "support/database_server"
require "support/optional_gems"

# The guide's consumer on PostgreSQL and a real broker: bulk_upserts/account.rb says what is tried.
class BulkUpsertsTest < GuildhallTest
  include OptionalGems

  def self.apart? = true

  ACCOUNT = File.expand_path("bulk_upserts/account.rb", __dir__)
  REAL = ENV.fetch("KAFKA_BOOTSTRAP_SERVERS", "")
  LIMIT = 600

  def test_account
    skip "needs a real broker: set KAFKA_BOOTSTRAP_SERVERS" if REAL.empty?
    missing = DatabaseServer.missing(:postgresql)
    skip missing if missing

    install_gems("databases")
    server = DatabaseServer.new(:postgresql)
    env = OptionalGems.variables("databases").merge("DATABASE" => JSON.generate({**server.settings, pool: 10}))
    out, err, status = run_command([RbConfig.ruby, "-W0", ACCOUNT, REAL], timeout: LIMIT, env:)
    assert_predicate status, :success?, "#{out}\n#{err}"
    assert_match(/^ok/, out)
    puts out if ENV["CI"]
  ensure
    server&.stop
  end
end
