# frozen_string_literal: true

require "json"
require "uri"
require_relative "../shared_cache"
require_relative "credentials"

module Guildhall
  class SchemaRegistry
    # Requests to the registry: which of its servers, attempts, authentication. Frozen and shareable; blocks.
    # @api private
    class HTTP
      CONTENT = "application/vnd.schemaregistry.v1+json"
      FIRST_PAUSE = 0.1 # seconds, doubled from round to round
      LONGEST_PAUSE = 2.0 # seconds
      private_constant :CONTENT, :FIRST_PAUSE, :LONGEST_PAUSE

      # A segment of a path.
      def self.escape(text) = URI.encode_www_form_component(text).gsub("+", "%20")

      # @param url [String]
      # @return [URI::HTTP]
      # @raise [Guildhall::ArgumentError]
      def self.parse(url)
        uri = URI.parse(url)
        return uri if uri.is_a?(URI::HTTP) && !uri.host.to_s.empty?

        raise Guildhall::ArgumentError, "a schema registry's URL begins with http:// or https://"
      rescue URI::InvalidURIError
        raise Guildhall::ArgumentError, "this is not the URL of a schema registry"
      end

      # Loads net/http and openssl only when they are needed.
      def initialize(urls, user:, password:, token:, headers:, context:, retries:, **connection)
        require_relative "connection"
        @uris = Array(urls).flat_map { |text| text.split(/\s*,\s*/) }.map { |url| HTTP.parse(url) }
        raise Guildhall::ArgumentError, "a schema registry needs a URL" if @uris.empty?

        @credentials = Credentials.new(@uris, user, password, token)
        @headers = headers.to_h { |name, value| [name.to_s, value.to_s] }
        @prefix = context ? "/contexts/#{HTTP.escape(context.start_with?(".") ? context : ".#{context}")}" : ""
        @attempts = [retries + 1, @uris.size].max
        @connection = Connection.new(**connection)
        @preferred = SharedCache.new
        Ractor.make_shareable(self)
      end

      # @return [Hash, Array, nil] nil: 404
      # @raise [Error]
      def get(path) = request(Net::HTTP::Get, path)

      # @return [Hash, nil] nil: 404
      # @raise [Error]
      def post(path, body) = request(Net::HTTP::Post, path, ::JSON.generate(body))

      def to_s = @uris.map { |uri| "#{uri.scheme}://#{uri.host}:#{uri.port}#{uri.path}" }.join(",")

      private

      # Servers take turns, beginning with the one that answered last.
      def request(kind, path, body = nil)
        first = @preferred[:server] || 0
        attempt = 0
        begin
          server = (first + attempt) % @uris.size
          answer(authorized(kind, @uris[server], path, body), path).tap { prefer(server) }
        rescue *Connection::FAILURES, Error => error
          attempt += 1
          raise failure(error) if attempt >= @attempts || final?(error)

          pause(attempt)
          retry
        end
      end

      def prefer(server)
        @preferred.replace(:server, server) unless @preferred[:server] == server
      end

      def pause(attempt)
        round, rest = attempt.divmod(@uris.size)
        sleep([FIRST_PAUSE * (2**(round - 1)), LONGEST_PAUSE].min) if rest.zero?
      end

      # A connection that breaks is an SSLError too, and is tried again; what is wrong with a certificate stays wrong.
      def final?(error)
        return error.message.include?("certificate") if error.is_a?(OpenSSL::SSL::SSLError)

        error.is_a?(Error) && error.status && error.status != 429 && error.status < 500
      end

      def failure(error)
        return error if error.is_a?(Error)

        Error.new("#{self} does not answer: #{error.message} (#{error.class}); is it running, and reachable from here?")
      end

      # A token that has been revoked before its time is replaced, once.
      def authorized(kind, uri, path, body)
        response = send_once(kind, uri, path, body)
        return response unless response.code == "401" && @credentials.reset

        send_once(kind, uri, path, body)
      end

      def send_once(kind, uri, path, body)
        request = kind.new("#{uri.path.chomp("/")}#{@prefix}#{path}", "Accept" => "#{CONTENT}, application/json", **@headers)
        @credentials.add_to(request)
        request.content_type = CONTENT if body
        @connection.send_to(uri, request, body)
      end

      def answer(response, path)
        status = response.code.to_i
        return ::JSON.parse(response.body) if status.between?(200, 299)
        return if status == 404

        raise Error.new("#{self} refuses #{path}: #{status} #{reason(response)}".rstrip, status:)
      rescue ::JSON::ParserError
        raise Error.new("#{self} answers #{path} with something that is not JSON; is it a schema registry?", status: 502)
      end

      def reason(response)
        ::JSON.parse(response.body.to_s)["message"].to_s[0, 200]
      rescue ::JSON::ParserError, NoMethodError, TypeError
        response.message
      end
    end
  end
end
