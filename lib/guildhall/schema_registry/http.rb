# frozen_string_literal: true

require "json"
require "uri"
require_relative "../clock"
require_relative "../growing_pauses"
require_relative "../option_rules"
require_relative "../shared_cache"
require_relative "answers"
require_relative "credentials"
require_relative "redirect"

module Guildhall
  class SchemaRegistry
    # Requests to the registry: which of its servers, attempts, authentication. Frozen and shareable; blocks.
    # @api private
    class HTTP
      CONTENT = "application/vnd.schemaregistry.v1+json"
      PAUSES = GrowingPauses.new(0.1, 2.0) # between two rounds, in which every server is asked
      HEADERS = OptionRules.rule("a Hash of Strings") do |headers|
        next false unless headers.is_a?(Hash)

        wrong, = headers.find { |name, value| !name.to_s.match?(/\A[\w!#$%&'*+.^`|~-]+\z/) || value.to_s.match?(/[\r\n\0]/) }
        wrong.nil? ? headers.none? { |name, _| name.nil? } : "must be a Hash of Strings; #{wrong.inspect} or its value is none of HTTP's"
      end
      private_constant :CONTENT, :PAUSES

      # A segment of a path.
      def self.escape(text) = URI.encode_www_form_component(text).gsub("+", "%20")

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
        @uris = Array(urls).flat_map { |text| text.split(/\s*,\s*/) }.map { |url| server(url) }
        raise Guildhall::ArgumentError, "a schema registry needs a URL" if @uris.empty?

        @credentials = Credentials.new(@uris, user, password, token)
        @headers = headers.to_h { |name, value| [name.to_s, value.to_s] }
        @prefix = context ? "/contexts/#{HTTP.escape(context.start_with?(".") ? context : ".#{context}")}" : ""
        @attempts = [retries + 1, @uris.size].max
        @connection = Connection.new(**connection)
        @answers = Answers.new(to_s, @credentials.any? ? nil : "no credentials are sent")
        @preferred = SharedCache.new
        @rests = SharedCache.new
        Ractor.make_shareable(self)
      end

      # @return [Hash, Array, nil] nil: the registry says that there is no such thing
      # @raise [Error]
      def get(path) = request(Net::HTTP::Get, path)

      # @return [Hash, nil] nil: the registry says that there is no such thing
      # @raise [Error]
      def post(path, body) = request(Net::HTTP::Post, path, ::JSON.generate(body))

      def to_s = @uris.map { |uri| Redirect.place(uri) }.join(",")

      private

      def server(url)
        uri = HTTP.parse(url)
        return uri unless uri.query || uri.fragment

        raise Guildhall::ArgumentError, "a schema registry's URL has no query and no fragment; what each request needs goes into headers:"
      end

      # Servers take turns, beginning with the one that answered last.
      def request(kind, path, body = nil)
        first = @preferred[:server] || 0
        attempt = 0
        pause = nil
        begin
          server = (first + attempt) % @uris.size
          check_rest(server)
          @answers.read(*authorized(kind, @uris[server], path, body), path).tap { prefer(server) }
        rescue *Connection::FAILURES, Error => error
          attempt += 1
          rest(server, error)
          raise failure(error) if attempt >= @attempts || final?(error)

          sleep(pause = PAUSES.after(pause)) if (attempt % @uris.size).zero?
          retry
        end
      end

      def prefer(server)
        @preferred.replace(:server, server) unless @preferred[:server] == server
      end

      # A server that has said when it wants to be asked again is not asked before; nobody waits here for that.
      def rest(server, error)
        return unless error.is_a?(Error) && error.retry_after && !@rests[server]&.fetch(0)&.>(Clock.now)

        @rests.replace(server, [Clock.now + error.retry_after, error.message.dup.freeze, error.status].freeze)
      end

      def check_rest(server)
        limit, message, status = @rests[server]
        return unless limit

        left = limit - Clock.now
        raise Error.new("#{message}; it is asked again in #{left.ceil} s", status:, retry_after: left) if left.positive?
      end

      # A connection that breaks is an SSLError too, and is tried again; what is wrong with a certificate stays wrong.
      def final?(error)
        return error.message.include?("certificate") if error.is_a?(OpenSSL::SSL::SSLError)
        return false unless error.is_a?(Error)

        return true if @uris.each_index.all? { |server| @rests[server]&.first.to_f > Clock.now }

        !error.status.nil? && !Answers.passing?(error.status)
      end

      def failure(error)
        return error if error.is_a?(Error)

        certificate = error.message.include?("certificate")
        advice = certificate ? "give ca_file: if it has an authority of its own" : "is it running, and reachable from here?"
        Error.new("#{self} does not answer: #{error.message} (#{error.class}); #{advice}")
      end

      # A token that has been revoked before its time is replaced, once.
      def authorized(kind, uri, path, body)
        answer = send_once(kind, uri, path, body)
        return answer unless answer.first.code == "401" && @credentials.reset

        send_once(kind, uri, path, body)
      end

      # @return [Array(Net::HTTPResponse, URI::HTTP)] with the place that has answered
      def send_once(kind, registry, path, body)
        target = URI.parse("#{registry.scheme}://#{registry.host}:#{registry.port}#{registry.path.chomp("/")}#{@prefix}#{path}")
        Redirect::MAX.times do
          response = send_to(kind, registry, target, body)
          return [response, target] unless Redirect.redirect?(response)

          to = Redirect.target(response, target)
          return [response, target] unless to && Redirect.safe?(response, target, to, get: body.nil?)

          target = to
        end
        raise Error.new("#{Redirect.place(registry)} redirects #{path} more than #{Redirect::MAX} times, at last to " \
                        "#{Redirect.place(target)}; use the URL that answers", status: 302)
      end

      def send_to(kind, registry, target, body)
        trusted = Redirect.trusted?(registry, target)
        request = kind.new(target.request_uri, "Accept" => "#{CONTENT}, application/json", **(trusted ? @headers : {}))
        @credentials.add_to(request, registry) if trusted
        request.content_type = CONTENT if body
        @connection.send_to(target, request, body, identified: trusted)
      end
    end
  end
end
