# frozen_string_literal: true

require "date"

module Guildhall
  module Kafka
    module CLI
      # Places in topics and times as people write them, for every command that takes one.
      module Moment
        UNITS = {"s" => 1, "m" => 60, "h" => 3_600, "d" => 86_400, "w" => 604_800}.freeze
        AGO = /\A\d+(?:\.\d+)?[smhdw]\z/
        EPOCH = /\A@\d+(?:\.\d+)?\z/
        MILLISECONDS = 100_000_000_000 # an epoch above is in milliseconds
        OFFSETS = /\A\d+:\d+(?:,\d+:\d+)*\z/
        ZONE = / ?(?:Z|UTC|GMT|[+-](?:0\d|1[0-4])(?::?[0-5]\d)?)/
        DATE = /\A\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d(?::\d\d(?:\.\d+)?)?#{ZONE}?)?\z/
        EXPLAINED = "10m, 2h or 3d (ago), 2026-11-27, \"2026-11-27 03:00\" or any ISO 8601 (UTC unless it names another zone), " \
                    "@1764212400 (epoch)"
        FROM = "earliest, latest, an offset, -100 (messages from the end), 0:17,1:9 (partition:offset), "
        private_constant :UNITS, :AGO, :EPOCH, :MILLISECONDS, :OFFSETS, :ZONE, :DATE, :FROM

        # @return [Integer, Symbol, Time, Hash{Integer=>Integer}] as `from:` of {Application::Queries#search}
        # @raise [Guildhall::ArgumentError]
        def self.from(text, now = Time.now)
          case text
          when "earliest", "latest" then text.to_sym
          when /\A-?\d+\z/ then text.to_i
          when OFFSETS then text.split(",").to_h { |pair| pair.split(":").map(&:to_i) }
          else time(text, now) || refuse("--from", text, FROM)
          end
        end

        # @return [Integer, Symbol, Time] as `until:`, and as `before:` of {Admin::Topics#trim}
        def self.until(text, now = Time.now, option: "--until")
          case text
          when "end", "latest" then :end
          when /\A\d+\z/ then text.to_i
          else time(text, now) || refuse(option, text, "end, an offset, ")
          end
        end

        # @return [Hash{Symbol=>Object}] as {Admin::Offsets#plan} takes it
        def self.target(text)
          case text
          when "earliest", "latest" then {to: text.to_sym}
          when /\A\d+\z/ then {to: text.to_i}
          when /\A[+-]\d+\z/ then {shift: text.to_i}
          else {to: time(text) || refuse("--to", text, "earliest, latest, an offset, -100 or +100 (from what is committed), ")}
          end
        end

        # @return [Time, nil] nil: it is none
        def self.time(text, now = Time.now)
          case text
          when AGO then now - (Float(text.chop) * UNITS.fetch(text[-1]))
          when EPOCH then Time.at(Rational(text.delete_prefix("@")) / (text.delete_prefix("@").to_i > MILLISECONDS ? 1000 : 1))
          when DATE then DateTime.parse(text).to_time # which takes UTC where no zone is named
          end
        rescue ::ArgumentError # the 31st of February
          nil
        end

        def self.refuse(option, text, more)
          raise Guildhall::ArgumentError, "#{option} takes #{more}#{EXPLAINED}, not #{text.inspect}"
        end
        private_class_method :refuse
      end
    end
  end
end
