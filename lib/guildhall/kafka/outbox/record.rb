# frozen_string_literal: true

module Guildhall
  module Kafka
    module Outbox
      # The base of the outbox's two tables. In another database than the primary one, in `config/guildhall.rb`:
      # `Guildhall::Outbox::Record.connects_to(database: {writing: :orders})`.
      class Record < ::ActiveRecord::Base
        self.abstract_class = true

        # A notification of PostgreSQL: rows were committed.
        CHANNEL = "guildhall_outbox"

        # As SQLite, Active Record (of insert_all the second), PostgreSQL, and MySQL and MariaDB say that there is no such table.
        MISSING = /no\ such\ table|could\ not\ find\ table|no\ unique\ index\ found\ for\ id|
                   relation\ "\w+"\ does\ not\ exist|table\ '[^']+'\ doesn't\ exist/ix
        private_constant :MISSING

        # Runs the block. After the error of PostgreSQL its transaction can be asked nothing: so the message has to say it.
        # @param generator [String] of the migration
        # @raise [MissingTablesError] instead of the database's own error
        # @api private
        def self.migrated(generator = "outbox")
          yield
        rescue ::ActiveRecord::StatementInvalid, ::ArgumentError => error
          missing = MissingTablesError.new(generator) if error.message.match?(MISSING)
          raise missing || error
        end

        # @return [Boolean] whether the database can wake a relay; in others a relay looks once a second
        def self.notifies? = connection_pool.db_config.adapter.match?(/\Apost/)
      end
    end
  end
end
