# frozen_string_literal: true

require "net/http"
require "openssl"
require "zlib"
require_relative "../option_rules"

module Guildhall
  class SchemaRegistry
    # Sends single requests: time-outs and TLS. Each has a connection of its own, which is closed whatever happens, so that
    # one that was interrupted in mid-read is never used again. Frozen and shareable; blocks.
    # @api private
    class Connection
      # What a request can fail with before there is an answer.
      FAILURES = [SystemCallError, SocketError, IOError, Timeout::Error, Net::ProtocolError, Net::HTTPBadResponse, Net::HTTPHeaderSyntaxError,
                  Zlib::Error, OpenSSL::OpenSSLError].freeze

      PATH = OptionRules.rule("the path of a file") { |value| value.is_a?(String) || value.respond_to?(:to_path) }.or(nil)
      RULES = OptionRules.new(
        connect_timeout: OptionRules.seconds, read_timeout: OptionRules.seconds, ca_file: PATH, certificate: PATH, key: PATH
      )
      private_constant :PATH, :RULES

      # @param connect_timeout [Numeric] seconds
      # @param read_timeout [Numeric] seconds, for each read
      # @param ca_file [String, nil] certificates to trust; nil: the system's
      # @param certificate [String, nil] path of a client's certificate (PEM)
      # @param key [String, nil] path of its key (PEM)
      # @raise [Guildhall::ArgumentError]
      def initialize(connect_timeout: 5, read_timeout: 10, ca_file: nil, certificate: nil, key: nil)
        RULES.check!({connect_timeout:, read_timeout:, ca_file:, certificate:, key:}, owner: "Guildhall::SchemaRegistry")
        @options = {open_timeout: connect_timeout, read_timeout:, write_timeout: read_timeout, max_retries: 0, ca_file:}.compact.freeze
        @certificate = certificate
        @key = key
        Ractor.make_shareable(self)
      end

      # @param uri [URI::HTTP]
      # @param request [Net::HTTPRequest]
      # @param body [String, nil]
      # @param identified [Boolean] whether the client's certificate is shown
      # @return [Net::HTTPResponse]
      # @raise one of {FAILURES}
      def send_to(uri, request, body = nil, identified: true)
        own = identified ? identity : {}
        Net::HTTP.start(uri.hostname, uri.port, use_ssl: uri.scheme == "https", **@options, **own) do |connection|
          connection.request(request, body)
        end
      end

      private

      # Read when a connection is made: keys are not shareable, paths are.
      def identity
        {cert: @certificate && OpenSSL::X509::Certificate.new(File.read(@certificate)),
         key: @key && OpenSSL::PKey.read(File.read(@key))}.compact
      end
    end
  end
end
