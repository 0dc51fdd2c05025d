# frozen_string_literal: true

require "guildhall/errors"
require_relative "../errors"
require_relative "../producing/delivery"

module Guildhall
  module Kafka
    class Partition
      # Classifies an error by its cause: a service that is out of reach (:outage), a database that is overloaded, or a statement that
      # is too slow (:contention), the payload's bytes (:undecodable), or anything else (:other). An outage is retried for as long
      # as it lasts and is never counted as an attempt; contention neither, while it is not a few messages alone that have it
      # ({Runtime::Contention}); undecodable payloads need no second look; everything else counts as an attempt.
      #
      # Classes of libraries are compared by name, with superclasses and modules: no library is loaded, and none has to be there.
      # @api private
      module ErrorKind
        # A service cannot be reached, or does not answer. A route adds classes of its own by `retries transient:`.
        OUTAGES = %w[
          IOError SystemCallError SocketError Timeout::Error OpenSSL::SSL::SSLError
          Rdkafka::AbstractHandle::WaitTimeoutError Guildhall::Kafka::TransactionError Guildhall::SchemaRegistry::UnusableSchemaError
          ActiveRecord::ConnectionNotEstablished ActiveRecord::ConnectionFailed
          PG::ConnectionBad PG::UnableToSend PG::ConnectionException PG::AdminShutdown PG::CrashShutdown PG::CannotConnectNow
          PG::TooManyConnections
          Mysql2::Error::ConnectionError Mysql2::Error::TimeoutError Trilogy::ConnectionError
          Sequel::DatabaseConnectionError Sequel::DatabaseDisconnectError Sequel::PoolTimeout
          Redis::BaseConnectionError RedisClient::ConnectionError
          Mongo::Error::SocketError Mongo::Error::SocketTimeoutError Mongo::Error::NoServerAvailable Mongo::Error::ConnectionPerished
          Dalli::NetworkError Dalli::RingError
          Faraday::ConnectionFailed Faraday::TimeoutError Faraday::SSLError
          HTTP::ConnectionError HTTP::TimeoutError HTTPX::ConnectionError HTTPX::TimeoutError HTTPX::ResolveError
          Excon::Error::Socket Excon::Error::Timeout
          HTTPClient::TimeoutError HTTPClient::KeepAliveDisconnected
          RestClient::Exceptions::Timeout RestClient::ServerBrokeConnection
          Seahorse::Client::NetworkingError
          Elastic::Transport::Transport::Errors::TooManyRequests Elastic::Transport::Transport::Errors::BadGateway
          Elastic::Transport::Transport::Errors::ServiceUnavailable Elastic::Transport::Transport::Errors::GatewayTimeout
          Elasticsearch::Transport::Transport::Errors::TooManyRequests Elasticsearch::Transport::Transport::Errors::BadGateway
          Elasticsearch::Transport::Transport::Errors::ServiceUnavailable Elasticsearch::Transport::Transport::Errors::GatewayTimeout
          OpenSearch::Transport::Transport::Errors::TooManyRequests OpenSearch::Transport::Transport::Errors::BadGateway
          OpenSearch::Transport::Transport::Errors::ServiceUnavailable OpenSearch::Transport::Transport::Errors::GatewayTimeout
          GRPC::Unavailable GRPC::DeadlineExceeded Google::Cloud::UnavailableError Google::Cloud::DeadlineExceededError
          Bunny::TCPConnectionFailed Bunny::NetworkFailure Bunny::ConnectionClosedError
        ].to_set.freeze
        # Either a database is overloaded, or a message makes it do too much.
        CONTENTION = %w[
          ActiveRecord::StatementTimeout ActiveRecord::QueryCanceled ActiveRecord::AdapterTimeout ActiveRecord::LockWaitTimeout
          ActiveRecord::Deadlocked ActiveRecord::SerializationFailure
          PG::QueryCanceled PG::LockNotAvailable PG::TRDeadlockDetected PG::TRSerializationFailure
          SQLite3::BusyException SQLite3::LockedException
          Sequel::DatabaseLockTimeout Sequel::SerializationFailure
        ].to_set.freeze
        # MariaDB's answer to a transaction that writes a row that another one has changed since it was read (from 11.6 on). Active
        # Record has no class for it.
        RECORD_CHANGED = 1020
        # Of clients of MySQL and MariaDB: class => the method that returns the server's number of the error.
        NUMBERED = {"Trilogy::ProtocolError" => :error_code, "Mysql2::Error" => :error_number}.freeze
        # These pass on an error of another library's: what that is decides. Of any other error the cause is not asked, for it may be one
        # that the application has rescued and dealt with.
        WRAPPERS = %w[
          ActiveRecord::StatementInvalid ActiveJob::DeserializationError ActionView::Template::Error Sequel::DatabaseError
          WaterDrop::Errors::ProduceError
        ].to_set.freeze
        UNDECODABLE = [DecodeError, ValidationError].freeze
        NAME = Module.instance_method(:name) # which a class may have replaced
        private_constant :OUTAGES, :CONTENTION, :RECORD_CHANGED, :NUMBERED, :WRAPPERS, :UNDECODABLE, :NAME

        class << self
          # @param topic [Routing::Topic] whose route may name further classes that are outages
          # @return [Symbol] :outage, :contention, :undecodable or :other
          def of(error, topic)
            return :outage if topic.retries.transient.any? { |klass| error.is_a?(klass) } || outage?(error)
            return :undecodable if UNDECODABLE.any? { |klass| error.is_a?(klass) }

            errors = unwrapped(error)
            listed?(errors, CONTENTION) || errors.any? { |one| record_changed?(one) } ? :contention : :other
          end

          private

          def outage?(error)
            return false if error.is_a?(StuckError) # a payload that exceeds its deadline: caused by the payload, though it is a time-out
            # The schema registry's part of the gem need not be loaded.
            return error.outage? if named?(error, ["Guildhall::SchemaRegistry::Error"])
            return error.pending? if named?(error, ["Guildhall::SchemaRegistry::UnknownSchemaError"])

            errors = unwrapped(error)
            listed?(errors, OUTAGES) || errors.any? { |one| one.is_a?(Rdkafka::RdkafkaError) && Broker::Errors.outage?(one.code) }
          end

          # @return [Array<Exception>] with the causes that it passes on
          def unwrapped(error)
            errors = [error]
            errors << errors.last.cause while errors.last.cause && named?(errors.last, WRAPPERS)
            errors
          end

          def record_changed?(error)
            NUMBERED.any? { |name, number| named?(error, [name]) && error.public_send(number) == RECORD_CHANGED }
          end

          def listed?(errors, names) = errors.any? { |error| named?(error, names) }

          def named?(error, names) = error.class.ancestors.any? { |one| names.include?(NAME.bind_call(one)) }
        end
      end
    end
  end
end
