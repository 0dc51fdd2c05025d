# frozen_string_literal: true

require "rails/generators/active_record"
require "guildhall/version"

module Guildhall
  module Generators
    # The migration of tables of ours; for an application that has it, of an earlier version, one that adds what its tables lack.
    module TablesMigration
      extend ActiveSupport::Concern
      include ::ActiveRecord::Generators::Migration

      UPDATE = File.expand_path("update_tables.rb.tt", __dir__)
      private_constant :UPDATE

      # @param migration [String] the text of one that makes tables
      # @return [Array<String>] a statement for each column and index
      def self.additions(migration)
        table = nil
        migration.lines.flat_map do |line|
          table = line[/create_table (:\w+)/, 1] || table
          columns = line[/\bt\.index (\[.*\])/, 1] and next "add_index #{table}, #{columns}, if_not_exists: true"
          column = line.match(/\bt\.(\w+) (:\w+)(.*)/)
          column ? addition(table, *column.captures) : []
        end
      end

      def self.addition(table, type, name, options)
        index = options[/, index: (true|\{.*?\})/, 1]
        ["add_column #{table}, #{name}, :#{type}#{options.sub(/, index: (?:true|\{.*?\})/, "")} unless column_exists?(#{table}, #{name})",
         *("add_index #{table}, #{name}#{", unique: true" if index.include?("unique")}, if_not_exists: true" if index)]
      end
      private_class_method :addition

      private

      # @param name [String] such as "guildhall_outbox"
      def create_or_update(name)
        template = "create_#{name}.rb.tt"
        there = behavior == :invoke && self.class.migration_exists?(db_migrate_path, "create_#{name}")
        return migration_template(template, File.join(db_migrate_path, "create_#{name}.rb")) unless there

        @additions = TablesMigration.additions(File.read(find_in_source_paths(template)))
        migration_template(UPDATE, File.join(db_migrate_path, "update_#{name}_to_#{VERSION.delete(".")}.rb"))
      end

      def migration_version = "[#{::ActiveRecord::Migration.current_version}]"
    end
  end
end
