# frozen_string_literal: true

require "erb/util"
require "time"
require "guildhall/json"

module Guildhall
  class Web
    # A page: its data, and the template that shows it. Made for one request.
    class Page
      # Sections of the menu => pages, as their name and path.
      MENU = {
        "" => {"Overview" => [], "Groups" => ["groups"], "Topics" => ["topics"]},
        "Failures" => {"Dead letters" => ["dead-letters"]}, "Work" => {"Schedule" => ["schedule"]}, "System" => {"Status" => ["status"]}
      }.freeze

      # @return [String] the name of its template
      def self.view = @view ||= name.split("::").last.gsub(/(?<=[a-z])[A-Z]/) { |letter| "_#{letter}" }.downcase

      def initialize(web, request)
        @web = web
        @request = request
        @at = Time.now.utc.strftime("%H:%M:%S").freeze
        @data = Ractor.make_shareable(data)
      end

      # @return [String] the time of day when it was made
      attr_reader :at

      # @return [String]
      def html = @web.render(self.class.view, page:, data: @data)

      # @return [String]
      def json = JSON.encode(@data)

      # Whether nobody may keep a copy: it has payloads.
      def private? = false

      private

      # @return [Hash] what there is to show, of what JSON has
      def data = raise(NotImplementedError, "#{self.class}#data")

      def title = raise(NotImplementedError, "#{self.class}#title")

      # @return [Hash{String=>Array<String>}] pages above this one, as their name and path
      def crumbs = {}

      # Whether it is fetched again every few seconds.
      def live? = true

      # @return [Hash{Symbol=>Object}] what the layout shows around it
      def page
        assets = Assets::NAMES.to_h { |name| [name, @request.script_name + @web.assets.path(name)] }
        {title:, crumbs:, prefix: @request.script_name, live: live?, assets:, menu: MENU, section: @request.segments.to_a.first,
         servers: servers, theme: @request.theme, at: @at, json: @request.address("format" => "json"),
         themes: Request::THEMES.to_h { |theme| [theme, @request.address("theme" => theme)] }}
      end

      def servers = Kafka::UnreachableError.servers(@web.application.config.librdkafka).to_s

      def names = @request.names
      def cluster = @web.cluster
      def time(time) = time&.utc&.iso8601(3)

      # @return [Boolean] whether keys and payloads of a topic's messages may be shown to who asks
      def payloads?(topic) = @web.access.allowed?(@request, :payload, topic)
    end
  end
end
