# frozen_string_literal: true

require "openssl"

# An authority and what it certifies, made for each test: nothing that is secret lies in the repository.
class Certificates
  DAY = 86_400

  # @return [OpenSSL::X509::Certificate]
  attr_reader :authority

  def initialize
    @key = new_key
    @authority = certificate("authority", @key, nil, {"basicConstraints" => "CA:TRUE", "keyUsage" => "keyCertSign"})
  end

  # @param expired [Boolean]
  # @param seconds [Numeric] for which it is valid from now on
  # @return [Array(OpenSSL::X509::Certificate, OpenSSL::PKey)]
  def issue(name, expired: false, seconds: expired ? -DAY : DAY, **extensions)
    key = new_key
    [certificate(name, key, @authority, extensions.transform_keys(&:to_s), seconds:), key]
  end

  # @return [String] key and chain, in one file of PEM, as Kafka's brokers read it
  def pem(name, **)
    certificate, key = issue(name, **)
    [key.private_to_pem, certificate.to_pem, @authority.to_pem].join
  end

  private

  def new_key = OpenSSL::PKey::EC.generate("prime256v1")

  def certificate(name, key, issuer, extensions, seconds: DAY)
    made = OpenSSL::X509::Certificate.new
    made.version = 2
    made.serial = rand(2**60)
    made.subject = OpenSSL::X509::Name.new([["CN", name]])
    made.issuer = (issuer || made).subject
    made.public_key = key
    made.not_before = Time.now - (2 * DAY)
    made.not_after = Time.now + seconds
    factory = OpenSSL::X509::ExtensionFactory.new(issuer || made, made)
    extensions.each { |extension, value| made.add_extension(factory.create_extension(extension, value, extension == "basicConstraints")) }
    made.sign(@key, "SHA256")
  end
end
