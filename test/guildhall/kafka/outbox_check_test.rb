# frozen_string_literal: true

require "test_helper"

# Whether what jobs write to the outbox is sent. With its tables, and on other databases: test/integration/outbox/missing.rb.
class OutboxCheckTest < GuildhallTest
  ROOT = File.expand_path("../../..", __dir__)
  MISSING = File.join(ROOT, "test/integration/outbox/missing.rb")
  PROGRAM = File.join(ROOT, "test/support/job_outbox_program.rb")

  def test_what_is_missing_is_named_with_the_command_on_sqlite
    out, err, status = run_command([RbConfig.ruby, "-W0", MISSING])
    assert_equal ["", true], [out, status.success?], err
  end

  # Neither Active Record nor Active Job is loaded for it.
  def test_an_application_without_an_outbox
    assert_equal "nil\n[]\n", assert_ruby(<<~'RUBY')
      require "guildhall/kafka"
      p Guildhall::Kafka::OutboxCheck.problems(Guildhall::Kafka.config, load_jobs: true)
      p $LOADED_FEATURES.grep(/active_(?:record|job)/)
    RUBY
  end

  # At the start of a server, and of a swarm's first process; `guildhall check` has the same findings.
  def test_a_start_and_the_command_say_so
    assert_equal "", assert_ruby(<<~RUBY, options: ["-W0"])
      load #{PROGRAM.dump}
      advised = Thread::Queue.new
      Guildhall::Kafka.instrumentation.subscribe("app.advised") { |event| advised << event.payload }
      Guildhall::Kafka.config.outbox = true
      ActiveRecord::Base.with_connection { |connection| connection.remove_column(Message.table_name, :options) }
      Guildhall::Kafka.start
      text = "the table guildhall_outbox_messages is that of an earlier version, without the column options: " \
             "run bin/rails db:migrate; where db/migrate has no migration for it, run bin/rails generate guildhall:outbox before that"
      equal({message: text, about: :settings, group: nil, topic: nil}, advised.pop(timeout: 60))
      Guildhall::Kafka.stop
      require "guildhall/kafka/admin/check"
      found = Guildhall::Kafka::Admin::Check.new(Guildhall::Kafka.application, []).run.select { |finding| finding.area == "outbox" }
      equal([["guildhall_outbox_messages", :problem, text, nil]], found.map { |one| [one.name, one.status, one.text, one.cure] })
      ActiveRecord::Base.with_connection { |connection| connection.add_column(Message.table_name, :options, :binary) }
      found = Guildhall::Kafka::Admin::Check.new(Guildhall::Kafka.application, []).run.select { |finding| finding.area == "outbox" }
      equal([["tables", :ok]], found.map { |one| [one.name, one.status] })
    RUBY
  end

  # The migration of an upgrade, made of that of a new application. The generators run in test/integration/rails/tour.rb.
  def test_an_update_adds_what_is_missing
    assert_equal "", assert_ruby(<<~RUBY, options: ["-W0"])
      load #{PROGRAM.dump}
      module ActiveRecord::Generators; module Migration; end; end
      $LOADED_FEATURES << File.join(FOLDER, "rails/generators/active_record.rb")
      $LOAD_PATH.unshift(FOLDER)
      load #{File.join(ROOT, "lib/generators/guildhall/tables_migration.rb").dump}
      tables = [Message, Outbox::Shard, TrackedJob, Batch]
      structure = lambda do
        ActiveRecord::Base.with_connection do |connection|
          tables.to_h do |table|
            [table, [connection.columns(table.table_name).map { |one| [one.name, one.sql_type, one.null, one.default, one.limit] }.sort_by(&:first),
                     connection.indexes(table.table_name).map { |one| [one.name, one.columns, one.unique] }.sort]]
          end
        end
      end
      whole = structure.call
      update = lambda do
        statements = %w[outbox jobs].flat_map { |name| Guildhall::Generators::TablesMigration.additions(GeneratedMigrations.text(name)) }
        Class.new(ActiveRecord::Migration::Current) { define_method(:up) { statements.each { |statement| instance_eval(statement) } } }.migrate(:up)
      end
      update.call
      equal(whole, structure.call)
      ActiveRecord::Base.with_connection do |connection|
        connection.remove_index(Message.table_name, %i[shard parked id])
        %i[shard parked options].each { |column| connection.remove_column(Message.table_name, column) }
        connection.remove_column(TrackedJob.table_name, :unique_key)
        connection.remove_column(Batch.table_name, :on_finish)
      end
      update.call
      equal(whole, structure.call)
    RUBY
  end

  # What the check asks for is what the migrations make.
  def test_columns_are_those_of_the_migrations
    assert_equal "", assert_ruby(<<~RUBY, options: ["-W0"])
      load #{PROGRAM.dump}
      [Message, Outbox::Shard, TrackedJob, Batch].each { |record| equal(record.column_names.sort, record::COLUMNS.sort) }
    RUBY
  end
end
