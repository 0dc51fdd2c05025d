# frozen_string_literal: true

require "rails/generators/active_record"

module Guildhall
  module Generators
    # `bin/rails generate guildhall:jobs`: the tables of unique jobs and of batches.
    class JobsGenerator < ::Rails::Generators::Base
      include ::ActiveRecord::Generators::Migration

      class_option :database, type: :string, aliases: %w[--db],
        desc: "The database of the migration: that of the outbox (default: the primary one)"
      source_root File.expand_path("templates", __dir__)
      desc "Adds a migration for the tables of unique jobs and batches"

      def create_migration_file
        migration_template "create_guildhall_jobs.rb.tt", File.join(db_migrate_path, "create_guildhall_jobs.rb")
      end

      private

      def migration_version = "[#{::ActiveRecord::Migration.current_version}]"
    end
  end
end
