# frozen_string_literal: true

require "digest"
require_relative "pages/dead_letters"
require_relative "pages/groups"
require_relative "pages/messages"
require_relative "pages/overview"
require_relative "pages/schedule"
require_relative "pages/status"
require_relative "pages/topics"

module Guildhall
  class Web
    # Finds the page that a path names, and answers with it: as HTML, or as the same data in JSON.
    class Response
      # A path's parts, a Symbol for any text => the page.
      PAGES = {
        [] => Pages::Overview, ["groups"] => Pages::Groups, ["groups", :group] => Pages::Group,
        ["topics"] => Pages::Topics, ["topics", :topic] => Pages::Topic, ["topics", :topic, "messages"] => Pages::Messages,
        ["topics", :topic, :partition, :offset] => Pages::Message,
        ["dead-letters"] => Pages::DeadLetterTopics, ["dead-letters", :topic] => Pages::DeadLetters,
        ["schedule"] => Pages::Schedule, ["status"] => Pages::Status
      }.freeze
      # Nothing but what comes from here: no inline style or script, nothing of other hosts, no frame.
      POLICY = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; " \
               "base-uri 'none'; frame-ancestors 'none'"
      HEADERS = {"content-security-policy" => POLICY, "x-content-type-options" => "nosniff", "referrer-policy" => "same-origin",
                 "vary" => "accept"}.freeze
      METHODS = %w[GET HEAD].freeze
      private_constant :PAGES, :POLICY, :HEADERS, :METHODS

      def initialize(web, request)
        @web = web
        @request = request
      end

      # @return [Array(Integer, Hash, Array<String>)] of Rack
      def finish
        return no_page(405, "Pages can be read, and nothing else.") unless METHODS.include?(@request.request_method)

        @web.access.check!(@request, :read)
        return no_page(400, "The query of this address cannot be read.") unless @request.query

        page = page() or return no_page(404, "There is no such page.")
        respond(200, page)
      rescue Access::Refused => error
        no_page(403, error.message, line: error.line)
      rescue Kafka::UnknownTopicError, Kafka::UnknownGroupError => error
        no_page(404, error.message)
      rescue Guildhall::ArgumentError => error
        no_page(400, error.message)
      rescue Kafka::KafkaError, ConfigurationError => error
        no_page(503, error.message)
      end

      private

      def no_page(status, ...) = respond(status, Pages::Failure.new(@web, @request, ...))

      def page
        segments = @request.segments or return
        pattern, page = PAGES.find { |pattern, _| match?(pattern, segments) }
        return unless page

        @request.names = pattern.zip(segments).select { |name, _| name.is_a?(Symbol) }.to_h
        page.new(@web, @request)
      end

      def match?(pattern, segments)
        pattern.size == segments.size && pattern.zip(segments).all? { |wanted, part| wanted.is_a?(Symbol) || wanted == part }
      end

      def respond(status, page)
        body, type = @request.json? ? [page.json, "application/json"] : [page.html, "text/html; charset=utf-8"]
        headers = {**HEADERS, "content-type" => type, "cache-control" => page.private? ? "no-store" : "private, no-cache"}
        if status == 200 && !page.private?
          # Without the time of day, which alone would make each page another one.
          headers["etag"] = tag = %("#{Digest::SHA256.hexdigest(body.sub(page.at, ""))[0, 24]}")
          return [304, headers.except("content-type"), []] if @request.get_header("HTTP_IF_NONE_MATCH") == tag
        end
        headers["content-length"] = body.bytesize.to_s
        [status, headers, [body]]
      end
    end
  end
end
