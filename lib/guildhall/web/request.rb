# frozen_string_literal: true

module Guildhall
  class Web
    # A request for a page, for an action, or for a file of {Assets}.
    # @api private
    class Request < Rack::Request
      ASSETS = "/assets/"
      FOREIGN = "it was not asked for by this page. The browser says so by the header Sec-Fetch-Site, or by Origin, which has to be the " \
                "name that this page has there: a proxy has to pass Host on, or X-Forwarded-Host."
      THEMES = %w[light dark].freeze
      FORM_BYTES = 100_000
      AUTHORITY = %r{\A(?<name>[^:/\s]+|\[[\h:.]+\])(?::(?<port>\d+))?\z}
      ORIGIN = %r{\A(?<scheme>https?)://(?<name>[^:/\s]+|\[[\h:.]+\])(?::(?<port>\d+))?\z}i
      DEFAULT_PORTS = {"http" => 80, "https" => 443}.freeze
      private_constant :ASSETS, :FORM_BYTES, :AUTHORITY, :ORIGIN, :DEFAULT_PORTS

      # @return [Hash{Symbol=>String}] what the path names, such as the topic; set by {Response}
      attr_accessor :names

      # @raise [Guildhall::ArgumentError] where the text is none
      def self.number(name, text)
        Integer(text, 10, exception: false) || raise(Guildhall::ArgumentError, "#{name} is a number, not #{text.inspect}")
      end

      # @return [Integer] that the path names, such as the partition
      def number(name) = Request.number(name, names.fetch(name))

      def asset? = path_info.start_with?(ASSETS)

      # @return [Array<String>, nil] the path's parts, decoded; nil: they are no text
      def segments
        parts = path_info.split("/").reject(&:empty?).map { |part| Rack::Utils.unescape_path(part).force_encoding(Encoding::UTF_8) }
        parts if parts.all? { |part| part.valid_encoding? && !part.include?("\0") }
      rescue ::ArgumentError
        nil
      end

      # @return [Boolean] whether data is wanted instead of a page: `?format=json`, or by its header
      def json? = text("format") == "json" || get_header("HTTP_ACCEPT").to_s.start_with?("application/json")

      # @return [String, nil] one of {THEMES}, which links keep; nil: the one of the viewer's system
      def theme = text("theme").then { |theme| theme if THEMES.include?(theme) }

      # @return [String, nil] the application whose reports are wanted, by its `client_id`, which links keep; nil: all of them
      def app = text("app")

      # @return [Hash{Symbol=>String}] parameters that all links and forms keep
      def kept = {app:, theme:}.compact

      # @param changes [Hash{String=>String}] of the query
      # @return [String] the address of this page, of the path's parts: what begins with two slashes would lead to another host
      def address(changes)
        path = segments.to_a.map { |part| ERB::Util.url_encode(part) }.join("/")
        "#{script_name}/#{path}?#{Rack::Utils.build_nested_query({**query.to_h, **changes})}"
      end

      # @return [String, nil] a parameter of the query; nil: it is missing or empty
      def text(name)
        value = query.to_h[name]
        value if value.is_a?(String) && !value.empty? && value.valid_encoding?
      end

      # @return [Array<String>] of a parameter that may be there several times, as `name[]`
      def texts(name)
        values = query.to_h[name]
        values.is_a?(Array) ? values.select { |value| value.is_a?(String) && value.valid_encoding? } : []
      end

      # @return [Hash, nil] nil: it cannot be read
      def query
        self.GET
      rescue StandardError # Rack's errors for that have no class in common
        nil
      end

      # @return [String, nil] a field of the form that was sent; nil: it is missing or empty
      def form(name)
        value = (self.POST if content_length.to_i <= FORM_BYTES).to_h[name]
        value if value.is_a?(String) && !value.empty? && value.valid_encoding?
      rescue StandardError # as {#query}
        nil
      end

      # Whether a page of this host has sent it. Browsers say so by Sec-Fetch-Site, except over http to other machines: there they say by
      # Origin which page it was. A page of another host can set neither, and none of the headers that a proxy adds.
      def same_origin?
        site = get_header("HTTP_SEC_FETCH_SITE")
        return site == "same-origin" if site

        origin = get_header("HTTP_ORIGIN").to_s.match(ORIGIN) or return false
        hosts = [get_header("HTTP_HOST"), *get_header("HTTP_X_FORWARDED_HOST").to_s.split(",").last].compact
        hosts.any? { |host| same_host?(origin, host.strip) }
      end

      private

      # Behind a proxy that ends TLS, only Origin has the scheme that the browser uses.
      def same_host?(origin, host)
        port = DEFAULT_PORTS.fetch(origin[:scheme].downcase)
        name, number = host.match(AUTHORITY)&.values_at(:name, :port)
        !name.nil? && name.casecmp?(origin[:name]) && (number || port).to_i == (origin[:port] || port).to_i
      end
    end
  end
end
