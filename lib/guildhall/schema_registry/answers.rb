# frozen_string_literal: true

require "json"
require "time"
require_relative "errors"
require_relative "redirect"

module Guildhall
  class SchemaRegistry
    # What a server's answers mean: the registry's own, or those of whatever stands before it. Frozen and shareable.
    #
    # Only an answer with an error code of the registry's own that belongs to the status (40403, 42201) is a verdict. An answer without
    # one (a proxy's page, a wrong URL's 404) is an outage; so is one that credentials or load have caused: it says nothing about what
    # was asked.
    # @api private
    class Answers
      # The same request may succeed a moment later.
      PASSING = [408, 425, 429].freeze
      # Not about what was asked, though with an error code.
      NO_VERDICT = [401, 403, 407, *PASSING].freeze
      # Where the registry's own code may be the status itself: an incompatible schema is 409 with the code 409. Not with other statuses:
      # a registry's web server answers so for paths that it does not have (404).
      OWN_CODES = [409, 422].freeze
      MAX_RETRY_AFTER_SECONDS = 60.0
      ADVICE = {
        401 => "check user: and password:, or token:",
        403 => "these credentials may not read it: grant them the right to read subjects and schemas",
        404 => "this is not a schema registry's answer: check the URL, with its path, and context:",
        407 => "a proxy wants credentials: see the environment's http_proxy"
      }.freeze
      private_constant :PASSING, :NO_VERDICT, :OWN_CODES, :ADVICE

      # @return [Boolean] whether the same request may succeed a moment later
      def self.passing?(status) = PASSING.include?(status) || status >= 500

      # @param name [String] what messages call the registry
      # @param remark [String, nil] to be added where credentials are wanted
      def initialize(name, remark)
        @name = name
        @remark = remark
        Ractor.make_shareable(self)
      end

      # @param from [URI::HTTP] what has answered
      # @param path [String] what was asked for
      # @return [Hash, Array, nil] nil: the registry says that there is no such thing
      # @raise [Error]
      def read(response, from, path)
        status = response.code.to_i
        content = parse(response.body)
        return content.is_a?(Hash) || content.is_a?(Array) ? content : strange(path) if status.between?(200, 299)

        code = content["error_code"] if content.is_a?(Hash)
        return if status == 404 && verdict?(status, code)

        said = [status, reason(content, response)].join(" ").rstrip
        raise RefusedError.new("#{@name} refuses #{path}: #{said}", status:, code:) if verdict?(status, code)

        raise Error.new(["#{@name} answers #{path} with #{said}", *advice(response, from, status)].join("; "), status:,
          retry_after: retry_after(response, status))
      end

      private

      def parse(body)
        ::JSON.parse(body.to_s)
      rescue ::JSON::ParserError, EncodingError
        nil
      end

      def strange(path)
        raise Error.new("#{@name} answers #{path} with something that is not JSON of a registry; is it a schema registry?", status: 502)
      end

      def verdict?(status, code)
        return false unless code.is_a?(Integer) && status.between?(400, 499) && !NO_VERDICT.include?(status)

        code / 100 == status || (code == status && OWN_CODES.include?(status))
      end

      def reason(content, response)
        text = content["message"] if content.is_a?(Hash)
        (text || response.message).to_s[0, 200]
      end

      def advice(response, from, status)
        return redirected(Redirect.target(response, from)) if Redirect.redirect?(response)

        [*(@remark if status == 401), *ADVICE[status]].join(": ") if ADVICE.key?(status)
      end

      def redirected(to)
        return "it redirects without a Location that can be read: check the URL, and what stands before the registry" unless to

        "it leads to #{Redirect.place(to)}, where it is not followed: use the URL that answers"
      end

      # Seconds, or a date.
      def retry_after(response, status)
        text = response["retry-after"] or return
        return unless Answers.passing?(status)

        seconds = text.match?(/\A\s*\d{1,9}\s*\z/) ? text.to_f : Time.httpdate(text) - Time.now
        seconds.clamp(0.0, MAX_RETRY_AFTER_SECONDS) if seconds.positive?
      rescue ::ArgumentError
        nil
      end
    end
  end
end
