# frozen_string_literal: true

require "guildhall/clock"
require_relative "command"
require_relative "keys"
require_relative "settings"

module Guildhall
  module Kafka
    module Commanding
      # What a process checks of any command, whatever its action and target: signature, whether it has come before, whether it is allowed
      # here, and whether it has expired. Used by one thread.
      # @api private
      class Checks
        # Longer than a command may be carried out, so that one that is written again is known.
        SEEN_SECONDS = 600
        MAX_SEEN = 10_000
        # By which clocks may differ.
        TOLERANCE_SECONDS = 5

        # @param settings [Settings]
        def initialize(settings)
          @settings = settings
          @seen = {} # id => when it came, of the {Clock}; the oldest first
        end

        # @param record [Record]
        # @return [Command]
        # @raise [CommandError] where it is none, or its signature is missing or wrong
        def authentic(record)
          bytes = record.raw_payload.to_s
          raise CommandError, "it has #{bytes.bytesize} bytes, more than a command may have" if bytes.bytesize > Command::MAX_BYTES
          unless @settings.key.nil? || Keys.signed?(@settings.key, bytes, [*record.headers[Command::SIGNATURE]].last)
            raise CommandError, "its signature is missing, or not of the key that belongs to config.commands[:public_key]"
          end

          Command.decode(bytes)
        rescue Guildhall::ArgumentError => error
          raise CommandError, error.message
        end

        # @param appended [Time] when a broker has got it, by the broker's clock
        # @return [String, nil] why it is not carried out; nil: it may be
        def refusal(command, appended, now: Time.now)
          return "#{command.action} is not allowed here: config.commands has allow: #{@settings.allow.inspect}" unless allowed?(command)

          expired(command, appended.to_f, now.to_f)
        end

        # @return [Boolean] whether it comes for the first time
        def first?(command, now: Clock.now)
          @seen.shift while @seen.any? && (@seen.first.last < now - SEEN_SECONDS || @seen.size >= MAX_SEEN)
          return false if @seen.key?(command.id)

          @seen[command.id] = now
          true
        end

        private

        def allowed?(command) = @settings.allow.include?(command.action)

        # From its making to the broker both clocks are others than from there to this process: only together they say how old it is. What
        # a clock that is behind would make younger is refused.
        def expired(command, appended, now)
          sent = appended - command.at
          read = now - appended
          return "the sender's clock is #{-sent.round} s ahead of the broker's" if sent < -TOLERANCE_SECONDS
          return "this process's clock is #{-read.round} s behind the broker's" if read < -TOLERANCE_SECONDS

          age = [sent, 0].max + [read, 0].max
          return if age <= command.expires

          "it has expired: #{age.round} s old, of #{command.expires.round} s (#{sent.round} s until the broker had it, #{read.round} s " \
            "from there to this process, if the clocks agree)"
        end
      end
    end
  end
end
