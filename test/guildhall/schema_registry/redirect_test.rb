# frozen_string_literal: true

require "test_helper"
require "tmpdir"
require "support/certificates"
require "support/registry_server"
require "guildhall/schema_registry"

# Redirects are followed where nothing can be overheard, and credentials stay with the registry.
class SchemaRegistryRedirectTest < GuildhallTest
  Registry = Guildhall::SchemaRegistry

  def setup
    @server = RegistryServer.new
    @server.add(1, '"string"')
    @other = RegistryServer.new
    @other.add(1, '"other"')
  end

  def teardown
    [@server, @other].each(&:close)
  end

  def test_follows_to_the_same_server_with_credentials
    @server["/old/schemas/ids/1"] = leads("/schemas/ids/1")
    assert_equal '"string"', Registry.new("#{@server.url}/old", user: "me", password: "x", headers: {"a" => "b"}).schema(1).schema
    assert_equal([[basic, "b"]] * 2, @server.headers.map { |headers| headers.values_at("authorization", "a") })
  end

  # The same host's other port may be anybody's.
  def test_credentials_are_for_the_registry_alone
    @server["/schemas/ids/2"] = leads("#{@other.url}/schemas/ids/1")
    assert_equal '"other"', Registry.new(@server.url, user: "me", password: "x", headers: {"a" => "b"}).schema(2).schema
    assert_equal [nil, nil], @other.headers.last.values_at("authorization", "a")
  end

  def test_is_not_followed_elsewhere
    ["http://registry.invalid/schemas/ids/1", "ftp://127.0.0.1/x", "file:///etc/passwd", "https://registry.invalid/", "http://", ""].each do |to|
      @server["/schemas/ids/3"] = leads(to)
      error = assert_raises(Registry::Error, to) { Registry.new(@server.url).schema(3) }
      assert_equal [302, true], [error.status, error.outage?]
      expected = to == "" ? /302 X; it redirects without a Location that can be read: check the URL/ : /it leads to .*, where it is not followed: use the URL that answers/
      assert_match(expected, error.message)
    end
    @server["/schemas/ids/3"] = leads("http://[")
    assert_match(/it redirects without a Location/, assert_raises(Registry::Error) { Registry.new(@server.url).schema(3) }.message)
    @server["/schemas/ids/3"] = leads("http://me:secret@registry.invalid/x?token=secret")
    assert_match(%r{it leads to http://registry.invalid:80/x,}, assert_raises(Registry::Error) { Registry.new(@server.url).schema(3) }.message)
    assert_equal @server.requests.size, @server.requests.count("GET /schemas/ids/3"), "and not tried again, for it stays so"
  end

  def test_a_circle_ends
    @server["/schemas/ids/3"] = leads("/schemas/ids/3")
    error = assert_raises(Registry::Error) { Registry.new(@server.url).schema(3) }
    assert_match(/redirects .* more than 5 times/, error.message)
    assert_equal [5, true], [@server.requests.size, error.outage?]
  end

  # What is sent is sent again only where the server says that it is to be.
  def test_what_is_posted
    @server["/subjects/b/versions"] = [200, {id: 5}]
    {"307" => true, "308" => true, "301" => false, "302" => false, "303" => false}.each do |status, followed|
      @server["/subjects/a/versions"] = leads("/subjects/b/versions", status)
      registry = Registry.new(@server.url)
      followed ? assert_equal(5, registry.register("a", '"int"')) : assert_raises(Registry::Error, status) { registry.register("a", '"int"') }
    end
    assert_equal(["{\"schema\":\"\\\"int\\\"\",\"schemaType\":\"AVRO\",\"references\":[]}"], @server.bodies.uniq)
  end

  def test_between_servers_with_tls
    Dir.mktmpdir do |folder|
      certificates = Certificates.new
      authority = File.join(folder, "authority.pem").tap { |path| File.write(path, certificates.authority.to_pem) }
      plain = "#{@server.url}/schemas/ids/1"
      first, second = Array.new(2) { tls(certificates) }
      second.add(1, '"second"')
      first["/schemas/ids/1"] = leads("#{second.url}/schemas/ids/1")
      registry = Registry.new(first.url, token: "t", ca_file: authority)
      assert_equal '"second"', registry.schema(1).schema
      assert_nil second.headers.last["authorization"]
      first["/schemas/ids/2"] = leads(plain)
      assert_raises(Registry::Error, "never without TLS") { registry.schema(2) }
    ensure
      [first, second].each { |server| server&.close }
    end
  end

  private

  def tls(certificates)
    context = OpenSSL::SSL::SSLContext.new
    context.add_certificate(*certificates.issue("registry", subjectAltName: "IP:127.0.0.1"))
    RegistryServer.new({}, context)
  end

  def leads(to, status = "302")
    ->(socket) { socket.write("HTTP/1.1 #{status} X\r\nLocation: #{to}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n") }
  end

  def basic = "Basic #{["me:x"].pack("m0")}"
end
