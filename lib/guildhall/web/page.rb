# frozen_string_literal: true

require "erb/util"
require "time"
require "guildhall/json"
require "guildhall/printable"

module Guildhall
  class Web
    # A page: its data, and the template that shows it. Made for one request.
    # @api private
    class Page
      # Sections of the menu => pages, as their name and path.
      MENU = {
        "" => {"Overview" => [], "Groups" => ["groups"], "Processes" => ["processes"], "Topics" => ["topics"]},
        "Failures" => {"Dead letters" => ["dead-letters"], "Errors" => ["errors"]},
        "Work" => {"Jobs" => ["jobs"], "Schedule" => ["schedule"], "Pool" => ["pool"]},
        "System" => {"Commands" => ["commands"], "Status" => ["status"]}
      }.freeze

      # @return [String] the name of its template
      def self.view = @view ||= name.split("::").last.gsub(/(?<=[a-z])[A-Z]/) { |letter| "_#{letter}" }.downcase

      def initialize(web, request)
        @web = web
        @request = request
        @at = Time.now.utc.strftime("%H:%M:%S").freeze
        @data = Ractor.make_shareable(data)
      end

      # @return [String] the time of day when it was made, and how old reports are
      def at = @at_text ||= "#{@at} UTC#{", reported #{Printable.duration(reports.age.round)} ago" if reports&.age}"

      # @return [String]
      def html = @web.render(self.class.view, page:, data: @data)

      # @return [String]
      def json = JSON.encode(@data)

      # @return [Array(String, Hash{String=>String})] the body, and headers about it
      def answer
        @request.json? ? [json, {"content-type" => "application/json"}] : [html, {"content-type" => "text/html; charset=utf-8"}]
      end

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
        {title:, crumbs:, kept: @request.kept, app: @request.app, apps: reports&.apps || [],
         prefix: @request.script_name, live: live?, assets:, menu: MENU, section: @request.segments.to_a.first,
         stale:, servers:, note: @web.forms.noted(@request.text("note")), theme: @request.theme, at:, counts:, history:,
         json: @request.address("format" => "json"),
         themes: Request::THEMES.to_h { |theme| [theme, @request.address("theme" => theme)] }}
      end

      # @return [Float, nil] how old what is shown is, where that is not how it is now
      def stale = (reports.age if reports&.stale&.positive?)

      def servers = Kafka::UnreachableError.servers(@web.application.config.librdkafka).to_s

      # @return [String] the time that small charts show
      def history
        minutes = reports ? reports.known_minutes : 60
        return "History" if minutes < 2

        minutes >= 60 ? "Last hour" : "Last #{minutes} min"
      end

      # @return [Hash{String, nil=>Array(String, Integer, String)}] beside a page of the menu: how much a person is needed there, for how
      #   many things, and what they are
      def counts = reports ? Counts.of(reports) : {}

      # @return [Reports::View, nil] nil: who asks may see nothing
      def reports = @reports ||= cluster.reports
      def names = @request.names

      # @return [Cluster, OneApplication]
      def cluster
        app = @request.app
        @cluster ||= app ? OneApplication.new(@web.cluster, app, own: app == @web.application.config.client_id) : @web.cluster
      end

      def time(time) = time&.utc&.iso8601(3)

      # @param target [String] a topic, a group or a task
      # @return [Hash{Symbol=>Boolean}] what who asks may do with it: what they may not do is not shown
      def may(target, *actions) = actions.to_h { |action| [action, @web.access.allowed?(@request, action, target)] }

      # @return [Boolean] whether keys and payloads of a topic's messages may be shown to who asks
      def payloads?(topic) = @web.access.allowed?(@request, :payload, topic)
    end
  end
end
