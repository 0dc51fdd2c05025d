# frozen_string_literal: true

require "json"
require "tmpdir"
require "test_helper"
require "support/database_server"
require "support/optional_gems"

# Outboxes in the databases that applications have, each a server of its own: outbox/account.rb says what is tried, on a real broker.
class OutboxOnDatabasesTest < GuildhallTest
  include OptionalGems

  def self.apart? = true

  ACCOUNT = File.expand_path("outbox/account.rb", __dir__)
  WAKING = File.expand_path("outbox/waking.rb", __dir__)
  REFUSED = File.expand_path("outbox/refused.rb", __dir__)
  MISSING = File.expand_path("outbox/missing.rb", __dir__)
  REAL = ENV.fetch("KAFKA_BOOTSTRAP_SERVERS", "")
  LIMIT = 600

  def test_account_on_sqlite
    need_broker
    Dir.mktmpdir { |folder| run_account({adapter: "sqlite3", database: File.join(folder, "outbox.sqlite3"), timeout: 60_000, pool: 30}) }
  end

  def test_account_on_postgresql = account_on(:postgresql)
  def test_account_on_mariadb = account_on(:mariadb)

  # PostgreSQL wakes the relay; one whose connection is cut gets another.
  def test_waking_and_connections_on_postgresql = with_server(:postgresql) { |server| assert_waking(server) }
  def test_connections_on_mariadb = with_server(:mariadb) { |server| assert_waking(server) }

  # A table or a column that is not there is named, with the command that makes it.
  def test_missing_tables_on_postgresql = with_server(:postgresql) { |server| assert_silent(MISSING, server) }
  def test_missing_tables_on_mariadb = with_server(:mariadb) { |server| assert_silent(MISSING, server) }

  def test_what_a_broker_refuses
    need_broker
    out, err, status = run_program(REFUSED, nil, REAL)
    assert_predicate status, :success?, "#{out}\n#{err}"
    assert_match(/^ok/, out)
  end

  # Its data is removed, too.
  def test_a_server_that_does_not_start_says_why
    missing = DatabaseServer.missing(:postgresql)
    skip missing if missing

    Dir.mktmpdir do |folder|
      File.chmod(0o755, folder)
      {"initdb" => "exit 0", "pg_isready" => "exit 1", "postgres" => "echo \"no room in $PWD\"; exit 1"}.each do |name, text|
        File.write(File.join(folder, name), "#!/bin/sh\n#{text}\n", perm: 0o755)
      end
      error = assert_raises(RuntimeError) { DatabaseServer.new(:postgresql, program: File.join(folder, "postgres")) }
      assert_match(/\Athe server has ended:\nno room in /, error.message)
      refute_path_exists error.message[/in (\S+)$/, 1]
    end
  end

  private

  def account_on(kind)
    need_broker
    with_server(kind) { |server| run_account({**server.settings, pool: 30}) }
  end

  def assert_waking(server) = assert_silent(WAKING, server)

  def assert_silent(program, server)
    out, err, status = run_program(program, {**server.settings, pool: 30})
    assert_equal ["", true], [out, status.success?], err
  end

  def with_server(kind)
    missing = DatabaseServer.missing(kind)
    skip missing if missing

    install_gems("databases")
    server = DatabaseServer.new(kind)
    yield(server)
  ensure
    server&.stop
  end

  def run_account(database)
    out, err, status = run_program(ACCOUNT, database, REAL)
    assert_predicate status, :success?, "#{out}\n#{err}"
    assert_match(/^ok/, out)
    puts out if ENV["CI"]
  end

  def need_broker = (skip "needs a real broker: set KAFKA_BOOTSTRAP_SERVERS" if REAL.empty?)

  def run_program(file, database, *arguments)
    gems = database.nil? || database[:adapter] == "sqlite3" ? {} : OptionalGems.variables("databases")
    env = {**gems, "DATABASE" => (JSON.generate(database) if database)}
    run_command([RbConfig.ruby, "-W0", file, *arguments], timeout: LIMIT, env:)
  end
end
