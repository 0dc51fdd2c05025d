# frozen_string_literal: true

require_relative "../tables_migration"

module Guildhall
  module Generators
    # `bin/rails generate guildhall:jobs`: the tables of unique jobs and of batches.
    class JobsGenerator < ::Rails::Generators::Base
      include TablesMigration

      class_option :database, type: :string, aliases: %w[--db],
        desc: "The database of the migration: that of the outbox (default: the primary one)"
      source_root File.expand_path("templates", __dir__)
      desc "Adds a migration for the tables of unique jobs and batches"

      def create_migration_file
        create_or_update("guildhall_jobs")
      end
    end
  end
end
