# frozen_string_literal: true

require "net/http"
require "openssl"
require "timeout"
require "zlib"
require_relative "../option_rules"
require_relative "errors"
require_relative "redirect"

module Guildhall
  class SchemaRegistry
    # Sends single requests: time-outs and TLS. Each has a connection of its own, which is closed whatever happens, so that
    # one that was interrupted in mid-read is never used again. Frozen and shareable; blocks.
    # @api private
    class Connection
      # What a request can fail with before there is an answer.
      FAILURES = [SystemCallError, SocketError, IOError, Timeout::Error, Net::ProtocolError, Net::HTTPBadResponse, Net::HTTPHeaderSyntaxError,
                  Zlib::Error, OpenSSL::OpenSSLError].freeze

      READ_TIMEOUTS = 3 # the whole answer has to arrive within this many times `read_timeout`
      MAX_ANSWER_BYTES = 10_000_000

      PATH = OptionRules.rule("the path of a file") { |value| value.is_a?(String) || value.respond_to?(:to_path) }.or(nil)
      RULES = OptionRules.new(
        connect_timeout: OptionRules.seconds, read_timeout: OptionRules.seconds, ca_file: PATH, certificate: PATH, key: PATH
      )
      private_constant :PATH, :RULES

      # @param connect_timeout [Numeric] seconds
      # @param read_timeout [Numeric] seconds, for each read; the whole answer has {READ_TIMEOUTS} times as long
      # @param ca_file [String, nil] certificates to trust; nil: the system's
      # @param certificate [String, nil] path of a client's certificate (PEM)
      # @param key [String, nil] path of its key (PEM)
      # @raise [Guildhall::ArgumentError]
      def initialize(connect_timeout: 5, read_timeout: 10, ca_file: nil, certificate: nil, key: nil)
        RULES.check!({connect_timeout:, read_timeout:, ca_file:, certificate:, key:}, owner: "Guildhall::SchemaRegistry")
        @seconds = read_timeout * READ_TIMEOUTS
        @options = {open_timeout: connect_timeout, read_timeout:, write_timeout: read_timeout, max_retries: 0, ca_file:}.compact.freeze
        @certificate = certificate
        @key = key
        check_files(ca_file)
        Ractor.make_shareable(self)
      end

      # @param identified [Boolean] whether the client's certificate is shown
      # @raise one of {FAILURES}
      # @raise [Error] for an answer that does not end
      def send_to(uri, request, body = nil, identified: true)
        own = identified ? identity : {}
        Net::HTTP.start(uri.hostname, uri.port, use_ssl: uri.scheme == "https", **@options, **own) do |connection|
          answer(connection, uri, request, body)
        end
      end

      private

      # The time-out of single reads does not end an answer that comes in drops.
      def answer(connection, uri, request, body)
        Timeout.timeout(@seconds, nil, "the answer has not ended after #{@seconds} s") do
          connection.request(request, body) { |response| response.body = read(response, uri) }
        end
      end

      def read(response, uri)
        text = "".b
        response.read_body do |part|
          too_long(response, uri) if text.bytesize + part.bytesize > MAX_ANSWER_BYTES
          text << part
        end
        text
      end

      def too_long(response, uri)
        raise Error.new("#{Redirect.place(uri)} answers with more than #{MAX_ANSWER_BYTES} bytes; is it a schema registry?",
          status: response.code.to_i)
      end

      def check_files(ca_file)
        raise Guildhall::ArgumentError, "Guildhall::SchemaRegistry: certificate: and key: need each other" if @certificate.nil? != @key.nil?

        attempt("ca_file") { OpenSSL::X509::Store.new.add_file(ca_file.to_s) } if ca_file
        return unless @certificate

        certificate = attempt("certificate") { own_certificate }
        key = attempt("key") { own_key }
        return if certificate.check_private_key(key)

        raise Guildhall::ArgumentError, "Guildhall::SchemaRegistry: key: is not that of certificate:"
      end

      def attempt(name)
        yield
      rescue SystemCallError, IOError, OpenSSL::OpenSSLError => error
        raise Guildhall::ArgumentError, "Guildhall::SchemaRegistry: #{name}: cannot be read as a file of PEM: #{error.message}"
      end

      def own_certificate = OpenSSL::X509::Certificate.new(File.read(@certificate))
      def own_key = OpenSSL::PKey.read(File.read(@key))

      # Read when a connection is made: keys are not shareable, paths are.
      def identity = @certificate ? {cert: own_certificate, key: own_key} : {}
    end
  end
end
