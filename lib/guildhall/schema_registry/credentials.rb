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
        value.nil? || value.is_a?(String) || value.respond_to?(:call) || "must be a String, an object with `call`, or nil"
      end

      # @param uris [Array<URI>]
      # @param user [String, nil]
      # @param password [String, nil]
      # @param token [String, #call, nil]
      def initialize(uris, user, password, token)
        known = uris.find(&:user)
        @user = user || decoded(known&.user)
        @password = password || decoded(known&.password)
        @token = token
      end

      # @param request [Net::HTTPRequest]
      # @return [void]
      def add_to(request)
        given = token
        request["Authorization"] = "Bearer #{given}" if given
        request.basic_auth(@user, @password) if @user && !given
      end

      # @return [Boolean]
      def any? = !@token.nil? || !@user.nil?

      # @return [Boolean] whether the next request has another token
      def reset
        return false unless @token.respond_to?(:reset)

        @token.reset
        true
      end

      # @return [String] without secrets
      def inspect = "#<#{self.class}>"

      private

      # Files and environments end with a newline, which no header may have.
      def token
        given = @token.respond_to?(:call) ? @token.call : @token
        given&.to_s&.strip
      rescue Error
        raise
      rescue StandardError => error
        raise Error, "token: raised #{error.class}: the registry cannot be asked without a token"
      end

      def decoded(text) = text && URI.decode_uri_component(text)
    end
  end
end
