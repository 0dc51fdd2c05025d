# frozen_string_literal: true

require "test_helper"
require "support/registry_server"
require "guildhall/schema_registry"

class SchemaRegistryOAuthTest < GuildhallTest
  Registry = Guildhall::SchemaRegistry

  def setup
    @given = 0
    @server = RegistryServer.new
    @server["/token"] = lambda do |socket|
      body = JSON.generate({access_token: "t#{@given += 1}", expires_in: @life || 3600})
      socket.write("HTTP/1.1 200 OK\r\nContent-Length: #{body.bytesize}\r\n\r\n#{body}")
    end
    @server.add(1, '"int"')
    @server.add(2, '"long"')
    @oauth = Registry::OAuth.new("#{@server.url}/token", client_id: "me", client_secret: "se:cret", scope: "read")
  end

  def teardown
    @server.close
  end

  def tokens = @server.headers.filter_map { |headers| headers["authorization"][/\ABearer (.*)/, 1] }

  def test_fetches_a_token_once
    registry = Registry.new(@server.url, token: @oauth)
    registry.schema(1)
    registry.schema(2)
    assert_equal [%w[t1 t1], 1], [tokens, @given]
    assert_equal "Basic #{["me:se%3Acret"].pack("m0")}", @server.headers.first["authorization"]
    assert Ractor.shareable?(registry)
    refute_includes registry.inspect + @oauth.inspect, "cret"
  end

  def test_wrong_options
    given = {client_id: "me", client_secret: "secret"}
    {client_id: nil, client_secret: 918_273, scope: %w[a b], parameters: "a=b", connect_timeout: 0}.each do |name, value|
      error = assert_raises(Guildhall::ArgumentError, name.to_s) { Registry::OAuth.new("http://localhost/token", **given, name => value) }
      assert_includes error.message, name.to_s
      refute_includes error.message, "918273"
    end
    assert_raises(Guildhall::ArgumentError) { Registry::OAuth.new(nil, **given) }
  end

  def test_a_token_that_ends_is_replaced
    @life = 0
    registry = Registry.new(@server.url, token: @oauth)
    registry.schema(1)
    registry.schema(2)
    assert_equal %w[t1 t2], tokens
  end

  def test_a_token_that_is_refused_is_replaced_once
    @server["/schemas/ids/3"] = lambda do |socket|
      body = tokens.last == "t1" ? "" : '{"schema":"\"int\""}'
      socket.write("HTTP/1.1 #{body.empty? ? 401 : 200} X\r\nContent-Length: #{body.bytesize}\r\n\r\n#{body}")
    end
    assert_equal '"int"', Registry.new(@server.url, token: @oauth).schema(3).schema
    @server["/schemas/ids/4"] = [401, {message: "no"}]
    assert_equal 401, assert_raises(Registry::Error) { Registry.new(@server.url, token: @oauth, retries: 0).schema(4) }.status
  end

  def test_no_token
    @server["/token"] = [403, {}]
    assert_match(/no token: 403/, assert_raises(Registry::Error) { Registry.new(@server.url, token: @oauth, retries: 0).schema(1) }.message)
    @server["/token"] = [200, "<html>"]
    assert_match(/token endpoint/, assert_raises(Registry::Error) { @oauth.call }.message)
    @server["/token"] = [200, {}]
    assert_match(/access_token/, assert_raises(Registry::Error) { @oauth.call }.message)
  end

  def test_any_callable
    assert_equal "x", Registry.new(@server.url, token: Vault).schema(1).then { tokens.last }
  end

  module Vault
    def self.call = "x"
  end
end
