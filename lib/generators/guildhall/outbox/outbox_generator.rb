# frozen_string_literal: true

require_relative "../tables_migration"

module Guildhall
  module Generators
    # `bin/rails generate guildhall:outbox`: the tables of the transactional outbox, and the setting that sends its messages.
    class OutboxGenerator < ::Rails::Generators::Base
      include TablesMigration

      SETTINGS = "config/guildhall.rb"
      SETTING = "  # bin/guildhall server sends what Guildhall::Outbox has written to the database.\n  config.outbox = true\n"
      # Of Active Record's five connections, by default, consumers would take all: each start would warn of it.
      CONCURRENCY = "  # Leaves the relay one of the 5 connections that config/database.yml has by default.\n  config.concurrency = 4\n"
      CONFIGURE = /^Guildhall::Kafka\.configure do \|config\|\n/
      private_constant :SETTINGS, :SETTING, :CONCURRENCY, :CONFIGURE

      class_option :database, type: :string, aliases: %w[--db], desc: "The database of the migration (default: the primary one)"
      source_root File.expand_path("templates", __dir__)
      desc "Adds a migration for the tables of the transactional outbox, and switches its relay on"

      def create_migration_file
        create_or_update("guildhall_outbox")
      end

      def switch_on
        file = File.join(destination_root, SETTINGS)
        raise Thor::Error, "#{SETTINGS} is missing: run bin/rails generate guildhall:install first" unless File.exist?(file)

        chosen = behavior == :invoke && File.read(file).match?(/^\s*config\.concurrency\b/)
        inject_into_file SETTINGS, CONCURRENCY, after: CONFIGURE unless chosen
        inject_into_file SETTINGS, SETTING, after: CONFIGURE
      end
    end
  end
end
