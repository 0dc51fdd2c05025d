# frozen_string_literal: true

require "digest"
require_relative "action"
require_relative "actions/commands"
require_relative "actions/letters"
require_relative "actions/tasks"
require_relative "pages/commands"
require_relative "pages/confirm"
require_relative "pages/dead_letters"
require_relative "pages/errors"
require_relative "pages/groups"
require_relative "pages/jobs"
require_relative "pages/messages"
require_relative "pages/overview"
require_relative "pages/partitions"
require_relative "pages/processes"
require_relative "pages/schedule"
require_relative "pages/status"
require_relative "pages/topics"

module Guildhall
  class Web
    # Finds the page that a path names, and answers with it: as HTML, or as the same data in JSON. An {Action} is carried out if it is sent,
    # and the answer leads to the page that shows what came of it.
    # @api private
    class Response
      # A path's parts, a Symbol for any text => the page, or the action.
      PAGES = {
        [] => Pages::Overview, ["groups"] => Pages::Groups, ["groups", :group] => Pages::Group,
        ["groups", :group, :topic] => Pages::Partitions, ["groups", :group, :topic, :partition] => Pages::Partition,
        ["processes"] => Pages::Processes, ["processes", :process] => Pages::OneProcess, ["changes"] => Pages::Changes, ["pool"] => Pages::Pool,
        ["errors"] => Pages::Errors, ["errors", :fingerprint] => Pages::Cause, ["jobs"] => Pages::Jobs, ["jobs", :queue] => Pages::JobQueue,
        ["jobs", "batches", :batch] => Pages::JobBatch,
        ["topics"] => Pages::Topics, ["topics", :topic] => Pages::Topic, ["topics", :topic, "messages"] => Pages::Messages,
        ["topics", :topic, :partition, :offset] => Pages::Message, ["topics", :topic, :partition, :offset, "payload"] => Pages::Payload,
        ["dead-letters"] => Pages::DeadLetterTopics, ["dead-letters", :topic] => Pages::DeadLetters,
        ["dead-letters", :topic, "replay"] => Actions::ReplayLetters, ["dead-letters", :topic, "discard"] => Actions::DiscardLetters,
        ["dead-letters", :topic, "delete"] => Actions::DeleteLetters, ["dead-letters", :topic, "stop"] => Actions::StopLetters,
        ["schedule"] => Pages::Schedule, ["schedule", :task, "disable"] => Actions::DisableTask,
        ["schedule", :task, "enable"] => Actions::EnableTask, ["schedule", :task, "run"] => Actions::RunTask,
        ["status"] => Pages::Status, ["commands"] => Pages::Commands, **Actions::Command.paths
      }.freeze
      # Nothing but what comes from here: no inline style or script, nothing of other hosts, no frame.
      POLICY = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; " \
               "base-uri 'none'; frame-ancestors 'none'"
      HEADERS = {"content-security-policy" => POLICY, "x-content-type-options" => "nosniff", "referrer-policy" => "same-origin",
                 "vary" => "accept, accept-encoding"}.freeze
      METHODS = %w[GET HEAD POST].freeze
      READ_ONLY = "This page can be read, and nothing else."
      private_constant :READ_ONLY, :PAGES, :POLICY, :HEADERS, :METHODS

      def initialize(web, request)
        @web = web
        @request = request
      end

      # @return [Array(Integer, Hash, Array<String>)] of Rack
      def finish
        return no_page(405, READ_ONLY) unless METHODS.include?(@request.request_method)

        @web.access.check!(@request, :read)
        return no_page(400, "The query of this address cannot be read.") unless @request.query

        found = find or return no_page(404, "There is no such page.")
        return respond(200, page(found)) unless @request.post?

        found <= Action ? redirect(found.new(@web, @request).act) : no_page(405, READ_ONLY)
      rescue Forms::Refused => error
        no_page(error.status, error.message)
      rescue Access::Refused => error
        no_page(403, error.message, line: error.line)
      rescue Kafka::UnknownTopicError, Kafka::UnknownGroupError => error
        no_page(404, error.message)
      rescue Kafka::KafkaError, Kafka::NewerFormatError, ConfigurationError => error
        no_page(503, error.message)
      rescue Guildhall::ArgumentError => error # a ConfigurationError is one, too
        no_page(400, error.message)
      end

      private

      def no_page(status, ...) = respond(status, Pages::Failure.new(@web, @request, ...))

      # @return [Class, nil] of a page, or of an action
      def find
        segments = @request.segments or return
        pattern, found = PAGES.find { |pattern, _| match?(pattern, segments) }
        return unless found

        @request.names = pattern.zip(segments).select { |name, _| name.is_a?(Symbol) }.to_h
        found
      end

      def page(found) = found <= Action ? Pages::Confirm.new(@web, @request, found.new(@web, @request)) : found.new(@web, @request)

      # A page that is loaded again does nothing again.
      # @param done [Done]
      def redirect(done)
        path = done.path.map { |part| ERB::Util.url_encode(part) }.join("/")
        query = {**done.query, "note" => @web.forms.note(done.note), **@request.kept}
        location = "#{@request.script_name}/#{path}?#{Rack::Utils.build_nested_query(query)}"
        [303, {**HEADERS, "location" => location, "cache-control" => "no-store", "content-length" => "0"}, []]
      end

      def match?(pattern, segments)
        pattern.size == segments.size && pattern.zip(segments).all? { |wanted, part| wanted.is_a?(Symbol) || wanted == part }
      end

      def respond(status, page)
        body, about = page.answer
        headers = {**HEADERS, **about, "cache-control" => page.private? ? "no-store" : "private, no-cache"}
        if status == 200 && !page.private?
          # Without the time of day, which alone would make each page another one; weak, for it may be compressed on its way.
          headers["etag"] = tag = %(W/"#{Digest::SHA256.hexdigest(body.sub(page.at, ""))[0, 24]}")
          return [304, headers.except("content-type"), []] if @request.get_header("HTTP_IF_NONE_MATCH") == tag
        end
        headers["content-length"] = body.bytesize.to_s
        [status, headers, [body]]
      end
    end
  end
end
