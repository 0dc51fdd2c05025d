# frozen_string_literal: true

require "json"
require "uri"
require_relative "../clock"
require_relative "../shared_cache"
require_relative "connection"
require_relative "http"

module Guildhall
  class SchemaRegistry
    # Bearer tokens by OAuth 2.0's client credentials (RFC 6749, 4.4), for {SchemaRegistry#initialize}'s `token:`. A token
    # is fetched when it is needed and kept until four fifths of its life are over. Frozen and shareable; blocks.
    #
    # @example
    #   oauth = Guildhall::SchemaRegistry::OAuth.new("https://login.example/token", client_id: "orders", client_secret: ENV["SECRET"])
    #   Guildhall::SchemaRegistry.new("https://registry.example", token: oauth)
    class OAuth
      LIFE_USED = 0.8
      DEFAULT_LIFE_SECONDS = 300
      REQUIRED = OptionRules.rule("a String") { |value| value.is_a?(String) || "must be a String" }
      RULES = OptionRules.new(url: REQUIRED, client_id: REQUIRED, client_secret: REQUIRED, scope: Credentials::TEXT,
        parameters: OptionRules.kind("a Hash of Strings", Hash))
      private_constant :LIFE_USED, :DEFAULT_LIFE_SECONDS, :REQUIRED, :RULES

      # @param url [String] of the token endpoint
      # @param scope [String, nil] scopes with a space between
      # @param parameters [Hash{String=>String}] more parameters of the token request, such as "audience"
      # @param connection [Hash] `connect_timeout`, `read_timeout` (seconds), `ca_file`, `certificate`, `key`
      # @raise [Guildhall::ArgumentError] when the URL is not one of HTTP, or an option is wrong
      def initialize(url, client_id:, client_secret:, scope: nil, parameters: {}, **connection)
        RULES.check!({url:, client_id:, client_secret:, scope:, parameters:}, owner: self.class.name)
        @uri = HTTP.parse(url)
        @client_id = client_id
        @client_secret = client_secret
        @parameters = {"grant_type" => "client_credentials", "scope" => scope, **parameters}.compact
        @connection = Connection.new(**connection)
        @tokens = SharedCache.new
        Ractor.make_shareable(self)
      end

      # @return [String] a token that is valid now
      # @raise [Error] when the endpoint gives none
      def call
        token, valid_until = @tokens[:current]
        token && Clock.now < valid_until ? token : fetch
      end

      # Forgets the token, as after an answer 401.
      def reset
        @tokens.delete(:current)
      end

      # @return [String] without the secret
      def inspect = "#<#{self.class} #{@uri.host} #{@client_id}>"

      private

      def fetch
        answer = ask
        token = answer["access_token"] if answer.is_a?(Hash)
        raise Error, "#{@uri.host} answers without an access_token; is #{@uri.path} the token endpoint?" unless token.is_a?(String)

        life = Float(answer["expires_in"] || DEFAULT_LIFE_SECONDS, exception: false) || DEFAULT_LIFE_SECONDS
        @tokens.replace(:current, [token.freeze, Clock.now + (life * LIFE_USED)].freeze)
        token
      end

      def ask
        request = Net::HTTP::Post.new(@uri.request_uri, "Accept" => "application/json")
        request.basic_auth(URI.encode_www_form_component(@client_id), URI.encode_www_form_component(@client_secret))
        request.set_form_data(@parameters)
        response = @connection.send_to(@uri, request)
        return ::JSON.parse(response.body.to_s) if response.is_a?(Net::HTTPSuccess)

        raise Error.new("#{@uri.host} gives no token: #{response.code} #{response.message}#{advice(response)}", status: response.code.to_i)
      rescue ::JSON::ParserError, EncodingError
        raise Error, "#{@uri.host} answers with something that is not JSON; is #{@uri.path} the token endpoint?"
      rescue *Connection::FAILURES => error
        raise Error, "#{@uri.host} gives no token: #{error.message} (#{error.class})"
      end

      def advice(response) = ("; check client_id:, client_secret: and scope:" if %w[400 401 403].include?(response.code))
    end
  end
end
