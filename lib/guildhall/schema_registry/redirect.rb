# frozen_string_literal: true

require "uri"

module Guildhall
  class SchemaRegistry
    # Where an answer leads: to the same server, or from one with TLS to another with TLS. Elsewhere it is not followed, and credentials
    # are for the registry alone.
    # @api private
    module Redirect
      MAX = 5
      STATUSES = %w[301 302 303 307 308].freeze
      SAME_METHOD = %w[307 308].freeze

      def self.redirect?(response) = STATUSES.include?(response.code)

      # @param from [URI::HTTP] what was asked
      # @return [URI, nil] nil: it leads nowhere
      def self.target(response, from)
        place = response["location"].to_s.strip
        URI.join(from, place) unless place.empty?
      rescue URI::Error
        nil
      end

      # @param get [Boolean] whether the request is a GET
      def self.safe?(response, from, to, get:)
        return false unless to.is_a?(URI::HTTP) && !to.host.to_s.empty? && (get || SAME_METHOD.include?(response.code))

        to.scheme == "https" ? from.scheme == "https" || same_host?(from, to) : from.scheme == "http" && same_host?(from, to)
      end

      # @param registry [URI::HTTP] as it was given
      # @return [Boolean] whether credentials may be sent there
      def self.trusted?(registry, uri)
        return false unless same_host?(registry, uri)
        return registry.port == uri.port if registry.scheme == uri.scheme

        uri.scheme == "https" && (registry.port == uri.port || [registry, uri].all? { |one| one.port == one.default_port })
      end

      # @return [String] without user, password and query
      def self.place(uri) = uri.is_a?(URI::HTTP) ? "#{uri.scheme}://#{uri.host}:#{uri.port}#{uri.path}" : "#{uri.scheme}:"

      def self.same_host?(one, other) = one.host.to_s.casecmp?(other.host.to_s)
      private_class_method :same_host?
    end
  end
end
