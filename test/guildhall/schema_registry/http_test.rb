# frozen_string_literal: true

require "test_helper"
require "tmpdir"
require "support/certificates"
require "support/registry_server"
require "guildhall/schema_registry"

# The registry's client over TLS, and where there is no connection to be had.
class SchemaRegistryHTTPTest < GuildhallTest
  Registry = Guildhall::SchemaRegistry

  def setup
    @folder = Dir.mktmpdir
    @certificates = Certificates.new
    @certificate, @key = @certificates.issue("registry", subjectAltName: "IP:127.0.0.1")
    @authority = store("authority.pem", @certificates.authority)
  end

  def teardown
    @server&.close
    FileUtils.rm_rf(@folder)
  end

  def test_trusts_the_authority_it_is_given
    serve
    assert_equal "int", Registry.new(@server.url, ca_file: @authority, retries: 0, user: "me", password: "secret").schema(1).schema
    assert_equal ["Basic #{["me:secret"].pack("m0")}"], @server.headers.map { |headers| headers["authorization"] }
  end

  def test_does_not_trust_others_and_does_not_try_again
    serve
    stranger = store("stranger.pem", Certificates.new.authority)
    [nil, stranger].each do |ca_file|
      error = assert_raises(Registry::Error) { Registry.new(@server.url, ca_file:, retries: 5).schema(1) }
      assert_match(/certificate/, error.message)
    end
    assert_empty @server.requests
  end

  def test_refuses_a_certificate_of_another_host
    @certificate, @key = @certificates.issue("registry", subjectAltName: "DNS:elsewhere.example")
    serve
    assert_match(/certificate/, assert_raises(Registry::Error) { Registry.new(@server.url, ca_file: @authority, retries: 0).schema(1) }.message)
  end

  def test_shows_a_certificate_of_its_own
    serve(verify_mode: OpenSSL::SSL::VERIFY_PEER | OpenSSL::SSL::VERIFY_FAIL_IF_NO_PEER_CERT, ca_file: @authority)
    certificate, key = @certificates.issue("consumer", extendedKeyUsage: "clientAuth")
    files = {certificate: store("consumer.pem", certificate), key: store("consumer.key", key)}
    assert_equal "int", Registry.new(@server.url, ca_file: @authority, retries: 0, **files).schema(1).schema
    assert_raises(Registry::Error) { Registry.new(@server.url, ca_file: @authority, retries: 0).schema(1) }
  end

  def test_files_that_cannot_be_used_are_named_when_the_client_is_made
    certificate, key = @certificates.issue("consumer")
    files = {certificate: store("consumer.pem", certificate), key: store("consumer.key", key)}
    missing = File.join(@folder, "none.pem")
    text = File.join(@folder, "text.pem").tap { |path| File.write(path, "127.0.0.1 localhost\n") }
    {{ca_file: missing} => /ca_file: cannot/, {ca_file: text} => /ca_file: cannot/, {**files, certificate: missing} => /certificate: cannot/,
     {**files, certificate: text} => /certificate: cannot/, {**files, key: missing} => /key: cannot/, {**files, key: text} => /key: cannot/,
     {key: files[:key]} => /need each other/, {certificate: files[:certificate]} => /need each other/,
     {**files, key: store("other.key", @key)} => /key: is not that of certificate:/}.each do |options, message|
      error = assert_raises(Guildhall::ArgumentError, options.inspect) { Registry.new("https://127.0.0.1", **options) }
      assert_match message, error.message
    end
  end

  def test_a_connection_that_breaks_in_mid_read_is_made_again
    serve
    broken = true
    @server["/schemas/ids/3"] = lambda do |socket|
      body = '{"schema":"int"}'
      socket.write("HTTP/1.1 200 X\r\nContent-Length: #{body.bytesize}\r\n\r\n#{broken ? body[0, 5] : body}")
      socket.to_io.shutdown if broken # without TLS's good-bye
      broken = false
    end
    assert_equal "int", Registry.new(@server.url, ca_file: @authority, retries: 1).schema(3).schema
    assert_equal 2, @server.requests.size
  end

  # One who is waited for and never accepted: the queue of connections is full.
  def test_a_connection_that_is_not_made_ends_at_the_time_out
    listener = Socket.new(:INET, :STREAM).tap { |socket| socket.bind(Addrinfo.tcp("127.0.0.1", 0)) && socket.listen(0) }
    waiting = Array.new(4) { Socket.new(:INET, :STREAM).tap { |socket| socket.connect_nonblock(listener.local_address, exception: false) } }
    url = "http://127.0.0.1:#{listener.local_address.ip_port}"
    error = assert_raises(Registry::Error) { Registry.new(url, connect_timeout: 0.1, retries: 0).schema(1) }
    assert_match(/OpenTimeout/, error.message)
  ensure
    [listener, *waiting].each { |socket| socket&.close }
  end

  private

  def serve(**options)
    context = OpenSSL::SSL::SSLContext.new
    context.add_certificate(@certificate, @key)
    options.each { |name, value| context.public_send(:"#{name}=", value) }
    @server = RegistryServer.new({}, context)
    @server.add(1, "int")
  end

  def store(name, object)
    File.join(@folder, name).tap { |path| File.write(path, object.respond_to?(:private_to_pem) ? object.private_to_pem : object.to_pem) }
  end
end
