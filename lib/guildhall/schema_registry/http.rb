# frozen_string_literal: true

require "json"
require "uri"

module Guildhall
  class SchemaRegistry
    # Requests to the registry: time-outs, attempts, authentication, TLS. Frozen and shareable; blocks.
    # @api private
    class HTTP
      CONTENT = "application/vnd.schemaregistry.v1+json"
      FIRST_PAUSE = 0.1 # seconds, doubled from attempt to attempt
      LONGEST_PAUSE = 2.0
      private_constant :CONTENT, :FIRST_PAUSE, :LONGEST_PAUSE

      # A segment of a path.
      def self.escape(text) = URI.encode_www_form_component(text).gsub("+", "%20")

      def initialize(url, user:, password:, token:, connect_timeout:, read_timeout:, retries:, ca_file:, certificate:, key:)
        require "net/http"
        require "openssl"
        @uri = parse(url)
        @user = user || (@uri.user && URI.decode_uri_component(@uri.user))
        @password = password || (@uri.password && URI.decode_uri_component(@uri.password))
        @token = token
        @retries = retries
        @options = {open_timeout: connect_timeout, read_timeout:, write_timeout: read_timeout, max_retries: 0,
                    use_ssl: @uri.scheme == "https", **tls(ca_file, certificate, key)}.freeze
        freeze
      end

      # @return [Hash, Array, nil] nil: 404
      # @raise [Error]
      def get(path) = request(Net::HTTP::Get, path)

      # @return [Hash]
      # @raise [Error]
      def post(path, body)
        request(Net::HTTP::Post, path, ::JSON.generate(body)) || raise(Error.new("#{self} does not know #{path}", status: 404))
      end

      def to_s = "#{@uri.scheme}://#{@uri.host}:#{@uri.port}#{@uri.path}"

      private

      def parse(url)
        uri = URI.parse(url)
        unless uri.is_a?(URI::HTTP) && !uri.host.to_s.empty?
          raise Guildhall::ArgumentError,
            "a schema registry's URL begins with http:// or https://"
        end

        uri
      rescue URI::InvalidURIError
        raise Guildhall::ArgumentError, "this is no URL of a schema registry"
      end

      # Read when a connection is made: keys are no shareable objects, paths are.
      def tls(ca_file, certificate, key)
        {ca_file:, certificate:, key:}.compact
      end

      def request(kind, path, body = nil)
        attempt = 0
        begin
          answer(send_once(kind, path, body), path)
        rescue SystemCallError, SocketError, IOError, Timeout::Error, Net::ProtocolError, OpenSSL::SSL::SSLError, Error => error
          attempt += 1
          raise failure(error) if attempt > @retries || final?(error)

          sleep([FIRST_PAUSE * (2**(attempt - 1)), LONGEST_PAUSE].min)
          retry
        end
      end

      def final?(error)
        # A connection that breaks is an SSLError too, and is made again.
        return error.message.include?("certificate") if error.is_a?(OpenSSL::SSL::SSLError)

        error.is_a?(Error) && error.status && error.status != 429 && error.status < 500
      end

      def failure(error)
        return error if error.is_a?(Error)

        Error.new("#{self} does not answer: #{error.message} (#{error.class}); is it running, and reachable from here?")
      end

      # The block form closes the connection however it is left.
      def send_once(kind, path, body)
        request = kind.new("#{@uri.path.chomp("/")}#{path}", "Accept" => "#{CONTENT}, application/json")
        authorize(request)
        request.content_type = CONTENT if body
        Net::HTTP.start(@uri.hostname, @uri.port, connection_options) { |connection| connection.request(request, body) }
      end

      def authorize(request)
        request["Authorization"] = "Bearer #{@token}" if @token
        request.basic_auth(@user, @password) if @user && !@token
      end

      def connection_options
        certificate, key = @options.values_at(:certificate, :key)
        made = @options.except(:certificate, :key)
        made[:cert] = OpenSSL::X509::Certificate.new(File.read(certificate)) if certificate
        made[:key] = OpenSSL::PKey.read(File.read(key)) if key
        made
      end

      def answer(response, path)
        status = response.code.to_i
        return ::JSON.parse(response.body) if status.between?(200, 299)
        return if status == 404

        raise Error.new("#{self} refuses #{path}: #{status} #{reason(response)}".rstrip, status:)
      rescue ::JSON::ParserError
        raise Error.new("#{self} answers #{path} with something that is no JSON; is it a schema registry?", status: 502)
      end

      def reason(response)
        ::JSON.parse(response.body.to_s)["message"].to_s[0, 200]
      rescue ::JSON::ParserError, NoMethodError, TypeError
        response.message
      end
    end
  end
end
