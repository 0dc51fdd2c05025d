# frozen_string_literal: true

require "guildhall/error_boundary"
require "guildhall/json"
require_relative "frame"
require_relative "line"

module Guildhall
  module Kafka
    module Logging
      # A line of text: time, level, process of a swarm, message.
      class TextFormatter
        def call(severity, time, progname, message)
          "#{time.getutc.strftime("%FT%T.%LZ")} #{severity.ljust(5)} #{"#{progname}: " if progname}#{message}\n"
        end
      end

      # A line of JSON: time, level, process of a swarm, message, and of an event its name and payload; an error as class, message and
      # frame.
      class JSONFormatter
        def call(severity, time, progname, message)
          fields = message.is_a?(Line) ? message.fields : {}
          "#{JSON.encode({"time" => time.getutc.strftime("%FT%T.%LZ"), "level" => severity,
                          **({"process" => progname} if progname), "message" => text(message.to_s),
                          **fields.to_h { |key, value| [key.to_s, plain(value)] }})}\n"
        end

        private

        def plain(value)
          case value
          when nil, true, false, Integer then value
          when Float then value.finite? ? value : value.to_s
          when Array then value.map { |one| plain(one) }
          when Hash then value.to_h { |key, one| [key.to_s, plain(one)] }
          when Exception
            {"class" => value.class.name.to_s, "message" => text(ErrorBoundary.message(value)), "frame" => Frame.of(value)}
          else text(value.to_s)
          end
        end

        def text(string)
          string.encode(Encoding::UTF_8, invalid: :replace, undef: :replace).scrub
        end
      end
    end
  end
end
