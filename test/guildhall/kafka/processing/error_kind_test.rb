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
    Guildhall::Kafka::Processing::ErrorKind.of(error, Topic.new(Retries.new(transient)))
  end

  def test_what_cannot_be_reached_is_an_outage
    [Guildhall::Kafka::TransactionError.new, IOError.new, Errno::ECONNREFUSED.new, SocketError.new, Timeout::Error.new, OpenSSL::SSL::SSLError.new].each do |error|
      assert_equal :outage, kind(error), error.class
    end
  end

  def test_a_registry_is_out_unless_it_refuses
    errors = [nil, 500, 503, 429, 401, 404].to_h { |status| [status, Guildhall::SchemaRegistry::Error.new("no", status:)] }
    assert_equal({nil => :outage, 500 => :outage, 503 => :outage, 429 => :outage, 401 => :other, 404 => :other},
      errors.transform_values { |error| kind(error) })
  end

  def test_bytes_that_are_wrong_are_undecodable
    assert_equal :undecodable, kind(Guildhall::DecodeError.new("bad"))
    assert_equal :undecodable, kind(Guildhall::ValidationError.new("bad"))
  end

  def test_an_unknown_schema_is_an_outage_where_the_registry_could_not_be_asked
    assert_equal :other, kind(unknown_schema(nil))
    assert_equal :outage, kind(unknown_schema(Guildhall::SchemaRegistry::Error.new("down")))
    assert_equal :other, kind(unknown_schema(Guildhall::SchemaRegistry::Error.new("refused", status: 403)))
  end

  def test_a_route_may_name_further_outages
    assert_equal :other, kind(Busy.new)
    assert_equal :outage, kind(Busy.new, transient: [Busy])
  end

  def test_everything_else_is_an_attempt
    [NoMethodError.new("nil"), Guildhall::StuckError.new("past its deadline"), Guildhall::WorkerDiedError.new("died")].each do |error|
      assert_equal :other, kind(error), error.class
    end
  end

  private

  def unknown_schema(cause)
    raise Guildhall::Avro::UnknownSchemaError.new("unknown", id: 7), cause:
  rescue Guildhall::Avro::UnknownSchemaError => error
    error
  end
end
