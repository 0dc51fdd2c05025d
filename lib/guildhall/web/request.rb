# frozen_string_literal: true

module Guildhall
  class Web
    # A request for a page, or for a file of {Assets}.
    class Request < Rack::Request
      ASSETS = "/assets/"
      THEMES = %w[light dark].freeze
      private_constant :ASSETS

      # @return [Hash{Symbol=>String}] what the path names, such as the topic; set by {Response}
      attr_accessor :names

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

      # @param changes [Hash{String=>String}] of the query
      # @return [String] the address of this page, of the path's parts: what begins with two slashes would lead to another host
      def address(changes)
        path = segments.to_a.map { |part| ERB::Util.url_encode(part) }.join("/")
        "#{script_name}/#{path}?#{Rack::Utils.build_query({**query.to_h, **changes})}"
      end

      # @return [String, nil] a parameter of the query; nil: it is missing or empty
      def text(name)
        value = query.to_h[name]
        value if value.is_a?(String) && !value.empty? && value.valid_encoding?
      end

      # @return [Hash, nil] nil: it cannot be read
      def query
        self.GET
      rescue StandardError # Rack's errors for that have no class in common
        nil
      end
    end
  end
end
