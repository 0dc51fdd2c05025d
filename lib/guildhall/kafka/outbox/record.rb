# frozen_string_literal: true

module Guildhall
  module Kafka
    module Outbox
      # The base of the outbox's tables, and of those of jobs. In another database than the primary one, in `config/guildhall.rb`:
      # `Guildhall::Outbox::Record.connects_to(database: {writing: :orders})`.
      class Record < ::ActiveRecord::Base
        self.abstract_class = true

        # A notification of PostgreSQL: rows were committed.
        CHANNEL = "guildhall_outbox"

        # What PostgreSQL, MariaDB, SQLite and Active Record say of a table or a column that is not there.
        MISSING = Regexp.union("UndefinedTable", "UndefinedColumn", "Unknown column", "doesn't exist", "no such table", "no such column",
          "has no column named", "Could not find table", "No unique index found", "unknown attribute")
        private_constant :MISSING

        class << self
          # @return [Boolean] whether the database can wake a relay; in others a relay looks once a second
          def notifies? = connection_pool.db_config.adapter.match?(/\Apost/)

          # Asks the database.
          # @return [MissingTablesError, nil] nil: the table is there, and has all that this version writes
          # @api private
          def fault
            found = with_connection { |connection| fault_at(connection) }
            found&.then { |what| missing("the table #{table_name} #{what}") }
          end

          # Says what is missing, and what to do, where the block fails because a table or a column is.
          # @raise [MissingTablesError]
          # @api private
          def explaining
            yield
          rescue ::ArgumentError, ::ActiveModel::UnknownAttributeError, ::ActiveRecord::StatementInvalid => error
            raise unless MISSING.match?(error.message)

            raise missing("the table #{table_name} is missing, or that of an earlier version (#{error.message.lines.first.strip})")
          end

          private

          def fault_at(connection)
            return "is missing" unless connection.table_exists?(table_name)

            lacking = self::COLUMNS - connection.columns(table_name).map(&:name)
            "is that of an earlier version, without the column#{"s" if lacking.size > 1} #{lacking.join(", ")}" if lacking.any?
          end

          # What was read of the table is read again once it is there.
          def missing(what)
            reset_column_information
            MissingTablesError.new(what, table_name.start_with?("guildhall_outbox") ? "outbox" : "jobs")
          end
        end
      end
    end
  end
end
