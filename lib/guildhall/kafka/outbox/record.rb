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

        # @return [Boolean] whether the database can wake a relay; in others a relay looks once a second
        def self.notifies? = connection_pool.db_config.adapter.match?(/\Apost/)
      end
    end
  end
end
