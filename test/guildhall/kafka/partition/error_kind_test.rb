# frozen_string_literal: true

require "test_helper"
require "openssl"
require "socket"
require "timeout"
require "guildhall/avro"
require "guildhall/schema_registry"
require "guildhall/kafka"

class KafkaErrorKindTest < GuildhallTest
  Retries = Struct.new(:transient)
  Topic = Struct.new(:retries)
  # What a route may call transient.
  class Busy < StandardError; end

  def kind(error, transient: [])
    Guildhall::Kafka::Partition::ErrorKind.of(error, Topic.new(Retries.new(transient)))
  end

  def test_what_cannot_be_reached_is_an_outage
    [Guildhall::Kafka::TransactionError.new, IOError.new, Errno::ECONNREFUSED.new, SocketError.new, Timeout::Error.new, OpenSSL::SSL::SSLError.new].each do |error|
      assert_equal :outage, kind(error), error.class
    end
  end

  # Nothing that a server says for itself is about a message: only what the registry refuses by its own error code.
  def test_a_registry_is_out_unless_it_refuses
    [nil, 302, 400, 401, 403, 404, 408, 429, 500, 503].each do |status|
      assert_equal :outage, kind(Guildhall::SchemaRegistry::Error.new("no", status:)), status.inspect
    end
    assert_equal :other, kind(Guildhall::SchemaRegistry::RefusedError.new("no", status: 422, code: 42_201))
  end

  def test_bytes_that_are_wrong_are_undecodable
    assert_equal :undecodable, kind(Guildhall::DecodeError.new("bad"))
    assert_equal :undecodable, kind(Guildhall::ValidationError.new("bad"))
  end

  def test_an_unknown_schema_is_an_outage_while_it_may_turn_up
    [Guildhall::SchemaRegistry::UnknownSchemaError, Guildhall::Avro::UnknownSchemaError].each do |error|
      own = error == Guildhall::Avro::UnknownSchemaError ? {} : {codec: "JSON"}
      assert_equal %i[outage undecodable], [true, false].map { |pending| kind(error.new("unknown", id: 7, pending:, **own)) }
    end
  end

  # It is no message's fault. One that the application has itself may be one that a message brought.
  def test_a_schema_of_the_registry_that_cannot_be_used_is_an_outage
    assert_equal :outage, kind(Guildhall::SchemaRegistry::UnusableSchemaError.new("wrong", id: 7))
    assert_equal :other, kind(Guildhall::SchemaError.new("wrong"))
  end

  def test_a_route_may_name_further_outages
    assert_equal :other, kind(Busy.new)
    assert_equal :outage, kind(Busy.new, transient: [Busy])
  end

  # Libraries that are not there: what counts is the name. In a process of its own, for other tests have these libraries.
  NAMES = <<~RUBY
    require "guildhall/kafka"
    def define(name, superclass = StandardError)
      *parents, last = name.split("::")
      within = parents.reduce(Object) { |scope, one| scope.const_defined?(one, false) ? scope.const_get(one, false) : scope.const_set(one, Module.new) }
      within.const_defined?(last, false) ? within.const_get(last, false) : within.const_set(last, superclass ? Class.new(superclass) : Module.new)
    end

    def caused(klass, cause)
      raise klass, "wrapped", cause:
    rescue klass => error
      error
    end

    def kind(error)
      topic = Struct.new(:retries).new(Struct.new(:transient).new([]))
      Guildhall::Kafka::Partition::ErrorKind.of(error, topic)
    end
  RUBY

  def kinds(code) = assert_forked("#{NAMES}\nputs #{code}").split.map(&:to_sym)

  def test_errors_of_libraries_are_outages_by_their_names
    names = %w[Redis::BaseConnectionError RedisClient::ConnectionError Faraday::ConnectionFailed Faraday::TimeoutError HTTP::TimeoutError
               Excon::Error::Socket Dalli::RingError Mongo::Error::NoServerAvailable Seahorse::Client::NetworkingError PG::ConnectionBad
               Mysql2::Error::ConnectionError Sequel::DatabaseDisconnectError GRPC::Unavailable Bunny::TCPConnectionFailed
               Elastic::Transport::Transport::Errors::ServiceUnavailable]
    assert_equal [:outage] * names.size, kinds("#{names}.map { |name| kind(define(name).new) }")
    assert_equal %i[outage outage other], kinds(<<~RUBY)
      [kind(Class.new(define("Redis::BaseConnectionError")).new), kind(Class.new(StandardError) { include define("Trilogy::ConnectionError", nil) }.new),
       kind(define("Redis::CommandError").new)]
    RUBY
  end

  def test_a_database_under_load_is_contention
    names = %w[PG::QueryCanceled PG::TRDeadlockDetected SQLite3::BusyException Sequel::SerializationFailure]
    assert_equal [:contention] * names.size, kinds("#{names}.map { |name| kind(define(name).new) }")
  end

  # By the number of the server's error, where Active Record has no class for it. For real: test/integration/bulk_upserts/guide.rb.
  def test_a_row_that_another_transaction_has_changed_is_contention
    assert_equal %i[contention other contention other], kinds(<<~RUBY)
      ({"Trilogy::ProtocolError" => :error_code, "Mysql2::Error" => :error_number}.flat_map { |name, number|
        [1020, 1064].map { |code| kind(caused(define("ActiveRecord::StatementInvalid"), define(name).new.tap { |one| one.define_singleton_method(number) { code } })) }
      })
    RUBY
  end

  def test_the_cause_counts_where_a_library_wraps_it
    assert_equal %i[outage contention other other other], kinds(<<~RUBY)
      [kind(caused(define("Sequel::DatabaseError"), Errno::ECONNRESET.new)),
       kind(caused(define("Sequel::DatabaseError"), define("PG::QueryCanceled").new)),
       kind(caused(define("Sequel::DatabaseError"), NoMethodError.new("nil"))), kind(define("Sequel::DatabaseError").new),
       kind(caused(KeyError, Errno::ECONNRESET.new))]
    RUBY
  end

  def test_no_library_is_loaded_for_it
    assert_equal %i[other autoloaded], kinds(<<~RUBY)
      (Object.autoload(:ActiveRecord, "/nowhere/active_record.rb")
      [kind(StandardError.new), Object.autoload?(:ActiveRecord) ? :autoloaded : :loaded])
    RUBY
  end

  def test_what_a_consumer_cannot_produce_is_an_outage_where_the_broker_is_out_of_reach
    timed_out, too_large = [-192, 10].map { |code| Rdkafka::RdkafkaError.new(code) }
    assert_equal %i[outage other], [kind(timed_out), kind(too_large)]
    assert_equal :outage, kind(Rdkafka::AbstractHandle::WaitTimeoutError.new("late"))
  end

  def test_everything_else_is_an_attempt
    [NoMethodError.new("nil"), Guildhall::StuckError.new("past its deadline"), Guildhall::WorkerDiedError.new("died")].each do |error|
      assert_equal :other, kind(error), error.class
    end
  end
end
