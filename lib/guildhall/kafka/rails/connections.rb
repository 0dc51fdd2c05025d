# frozen_string_literal: true

module Guildhall
  module Kafka
    module Rails
      # Each runner thread takes a connection of Active Record's for as long as its consumer works, and so does each thread of Puma in the
      # same process. If there are fewer connections than threads, the last threads wait, and fail with ConnectionTimeoutError.
      # @api private
      module Connections
        class << self
          # Loads Active Record, which consumers would do anyway. Connects to nothing.
          # @param outbox [Boolean] whether its relay takes one more
          # @return [Array<String>] a line for each database of this environment that has too few connections
          def problems(concurrency, outbox: false)
            return [] unless defined?(::ActiveRecord::Railtie)

            puma = puma_threads
            databases = ::ActiveRecord::Base.configurations.configs_for(env_name: ::Rails.env, include_hidden: true)
            databases.filter_map { |database| problem(database, concurrency, puma, outbox) }
          end

          private

          def problem(database, concurrency, puma, outbox)
            setting, size = limit(database)
            needed = concurrency + puma + (outbox ? 1 : 0)
            return if size.nil? || size.negative? || size >= needed

            threads = puma.zero? ? "" : ", and Puma has #{puma} threads in this process"
            threads += ", and the outbox's relay takes one" if outbox
            left = size - (needed - concurrency)
            advice = left.positive? ? " (or set config.concurrency to #{left})" : ""
            "config.concurrency is #{concurrency}#{threads}, but the database #{database.name} has #{size} connections: threads that get " \
              "none fail with ActiveRecord::ConnectionTimeoutError; write #{setting}: #{needed} for #{database.name} in " \
              "config/database.yml, under #{database.env_name}#{advice}"
          end

          def limit(database)
            database.respond_to?(:max_connections) ? ["max_connections", database.max_connections] : ["pool", database.pool]
          end

          # Where Puma runs in this process, its threads use the same connections.
          def puma_threads
            defined?(::Puma) && ::Puma.respond_to?(:cli_config) ? ::Puma.cli_config&.options&.fetch(:max_threads, 0).to_i : 0
          rescue StandardError
            0 # its settings are not read yet
          end
        end
      end
    end
  end
end
