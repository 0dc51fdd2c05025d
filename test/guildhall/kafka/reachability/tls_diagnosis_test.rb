# frozen_string_literal: true

require "socket"
require "tempfile"
require "test_helper"
require "guildhall/kafka"
require_relative "../../../support/certificates"

class KafkaTLSDiagnosisTest < GuildhallTest
  def setup
    @certificates = Certificates.new
    @authority = file(@certificates.authority)
  end

  def test_nothing_is_wrong
    assert_nil diagnose(certificate: issue)
    assert_nil diagnose(certificate: issue, "ssl.ca.location": nil, "ssl.ca.pem": @certificates.authority.to_pem)
  end

  def test_a_certificate_that_has_expired
    assert_match(/\Athe certificate of CN=broker has expired \(20\d\d-\d\d-\d\d \d\d:\d\d UTC\): renew it\z/,
      diagnose(certificate: issue(expired: true)))
  end

  def test_a_certificate_for_another_name
    problem = diagnose(certificate: issue(subjectAltName: "DNS:a.example,DNS:b.example"))
    assert_match(/\Aits certificate is for a\.example, b\.example, not for 127\.0\.0\.1: use such a name/, problem)
    assert_nil diagnose(certificate: issue(subjectAltName: "DNS:a.example"), "ssl.endpoint.identification.algorithm": "none")
  end

  def test_an_authority_that_is_not_known
    foreign = file(Certificates.new.authority)
    assert_match(/\Aits certificate was issued by CN=authority, which ssl.ca.location \(#{foreign}\) does not have/,
      diagnose(certificate: issue, "ssl.ca.location": foreign))
    assert_match(/this system \(ssl.ca.location is not set\) does not have/, diagnose(certificate: issue, "ssl.ca.location": nil))
  end

  def test_a_client_certificate_that_has_expired
    certificate, = @certificates.issue("shop", expired: true)
    {"ssl.certificate.location": file(certificate), "ssl.certificate.pem": certificate.to_pem}.each do |name, value|
      assert_match(/\Athe client certificate of CN=shop \(.*\) has expired \(20.* UTC\): renew it; a server that runs needs a restart then\z/,
        diagnose(certificate: issue, name => value))
    end
    assert_match(/CN=broker/, diagnose(certificate: issue(expired: true), "ssl.certificate.pem": certificate.to_pem))
    assert_nil diagnose(certificate: issue, "ssl.certificate.pem": @certificates.issue("shop").first.to_pem)
  end

  def test_certificates_that_are_not_verified
    assert_nil diagnose(certificate: issue(expired: true), "enable.ssl.certificate.verification": "false")
  end

  def test_tls_where_there_is_none
    assert_match(/\Aits port \d+ does not speak TLS: set security.protocol to plaintext, or to sasl_plaintext/,
      diagnose { |socket| socket.write("no TLS") && socket.close })
    assert_match(/does not speak TLS/, diagnose { |socket| socket.readpartial(1_000) && socket.close })
  end

  def test_no_tls_where_there_is
    assert_match(/\Aits port \d+ speaks TLS: set security.protocol to ssl, or to sasl_ssl/,
      diagnose(certificate: issue, "security.protocol": "plaintext"))
    assert_nil diagnose("security.protocol": "plaintext", &:close)
  end

  def test_what_cannot_be_reached_or_read
    free = TCPServer.open("127.0.0.1", 0) { |server| server.addr[1] }
    %w[ssl plaintext].each do |protocol|
      problem = Guildhall::Kafka::Reachability::TLSDiagnosis.new { {"security.protocol": protocol} }.call("127.0.0.1:#{free}")
      assert_equal "nothing listens at its port #{free} now: check that the broker runs", problem
    end
    assert_nil Guildhall::Kafka::Reachability::TLSDiagnosis.new { {} }.call("nonsense")
    assert_nil diagnose(certificate: issue, "ssl.ca.location": "/none")
  end

  def test_settings_that_are_not_known
    asked = []
    assert_nil Guildhall::Kafka::Reachability::TLSDiagnosis.new(connect: ->(*) { flunk }) { |broker| asked << broker && nil }.call("b:1")
    assert_equal ["b:1"], asked
  end

  def test_no_time_is_without_a_limit
    options = nil
    connect = ->(*, **given) { options = given and raise(SocketError, "not known") }
    assert_nil Guildhall::Kafka::Reachability::TLSDiagnosis.new(connect:) { {} }.call("b:1")
    assert_equal [true] * 2, options.values_at(:resolv_timeout, :connect_timeout).map { |seconds| seconds.between?(0, 3) }
  end

  private

  def issue(**extensions) = @certificates.issue("broker", subjectAltName: "IP:127.0.0.1", **extensions)

  def file(certificate)
    (@files ||= []) << Tempfile.new(["certificate", ".pem"]).tap { |file| file.write(certificate.to_pem) && file.close }
    @files.last.path
  end

  # @param certificate [Array(OpenSSL::X509::Certificate, OpenSSL::PKey), nil] nil: the block serves
  def diagnose(certificate: nil, **settings, &serve)
    server = TCPServer.new("127.0.0.1", 0)
    thread = Thread.new do
      accept(server.accept, certificate, serve)
    rescue IOError
      nil # nobody has come
    end
    settings = {"security.protocol": "ssl", "ssl.ca.location": @authority, **settings}.compact
    Guildhall::Kafka::Reachability::TLSDiagnosis.new { settings }.call("127.0.0.1:#{server.addr[1]}")
  ensure
    server&.close
    thread&.join(5)
  end

  def accept(socket, certificate, serve)
    return serve.call(socket) unless certificate

    context = OpenSSL::SSL::SSLContext.new
    context.cert, context.key = certificate
    OpenSSL::SSL::SSLSocket.new(socket, context).tap { it.sync_close = true }.accept.close
  rescue OpenSSL::SSL::SSLError, SystemCallError, IOError
    socket.close
  end
end
