# frozen_string_literal: true

require "uri"
require_relative "../option_rules"

module Guildhall
  class SchemaRegistry
    # Credentials: a token, or an object that returns one, or a user and a password, which may be part of a URL. Shareable.
    # @api private
    class Credentials
      # Messages say what a secret should be, and not what it is.
      TEXT = OptionRules.rule("a String") { |value| value.nil? || value.is_a?(String) || "must be a String, or nil" }
      TOKEN = OptionRules.rule("a String") do |value|
        next true if value.nil? || value.respond_to?(:call) || (value.is_a?(String) && !value.strip.match?(/[\r\n\0]/))

        "must be a String of one line, an object with `call`, or nil"
      end

      # @param user [String, nil] for all of them; nil: each has its own, or none has
      # @param password [String, nil] likewise
      # @raise [Guildhall::ArgumentError] where it is not clear which server is to get which
      def initialize(uris, user, password, token)
        problem = contradiction(uris, user, password)
        raise Guildhall::ArgumentError, "Guildhall::SchemaRegistry: #{problem}" if problem

        @pairs = uris.to_h { |uri| [uri, [user || decoded(uri.user), password || decoded(uri.password)]] }
        @token = token
      end

      # @param uri [URI] of the server, as it was given
      def add_to(request, uri)
        given = token
        request["Authorization"] = "Bearer #{given}" if given
        user, password = @pairs.fetch(uri)
        request.basic_auth(user, password) if user && !given
      end

      def any? = !@token.nil? || @pairs.each_value.any?(&:first)

      # @return [Boolean] whether the next request has another token
      def reset
        return false unless @token.respond_to?(:reset)

        @token.reset
        true
      end

      # @return [String] without secrets
      def inspect = "#<#{self.class}>"

      private

      def contradiction(uris, user, password)
        named = uris.select(&:user)
        return "user: is given, and a URL has one: give one of them" if user && named.any?
        return "password: is given, and a URL has one: give one of them" if password && uris.any?(&:password)
        return if user || named.size == uris.size

        if named.any? then "only some URLs have a user: give each its own, or user: and password: for all"
        elsif password then "password: needs user:"
        end
      end

      # Files and environments end with a newline, which no header may have.
      def token
        given = @token.respond_to?(:call) ? @token.call : @token
        given = given&.to_s&.strip
        raise Error, "token: is not one line: no header can have it" if given&.match?(/[\r\n\0]/)

        given
      rescue Error
        raise
      rescue StandardError => error
        raise Error, "token: raised #{error.class}: the registry cannot be asked without a token"
      end

      def decoded(text)
        text && URI.decode_uri_component(text)
      rescue ::ArgumentError
        raise Guildhall::ArgumentError, "the user or password of a URL is not percent-encoded as URLs need it"
      end
    end
  end
end
