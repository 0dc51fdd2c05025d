# frozen_string_literal: true

require "digest"
require "guildhall/clock"
require "guildhall/printable"
require_relative "../logging"

module Guildhall
  module Kafka
    module Reporting
      # The errors of a process by their cause: type, class and place. Of each cause there is a record at once, and while it goes on, one
      # every {PAUSE_SECONDS} with the count: a storm of errors costs no more than one. Any thread. No error is kept: it may hold on to
      # payloads.
      # @api private
      class ErrorCounts
        PAUSE_SECONDS = 10
        MAX_CAUSES = 200 # at a time; more are not reported
        MAX_FRAMES = 20
        MAX_CHARACTERS = 1_000 # of a message
        FIELDS = %i[group topic partition offset attempt outage].freeze
        # times, since, last: how often and when since the last record; record: of the first of them; due: the next one.
        Cause = Struct.new(:times, :record, :since, :last, :due)
        private_constant :FIELDS, :Cause

        # @param messages [Boolean] whether records have the errors' messages
        def initialize(messages:)
          @messages = messages
          @lock = Mutex.new
          @causes = {} # by fingerprint
        end

        # @param message [String] what may be said of the error
        # @param details [Hash{Symbol=>Object}] of the event `error.occurred`
        def note(error:, type:, message: nil, **details)
          place = place(error)
          name = error.class.name.to_s
          fingerprint = Digest::SHA256.hexdigest([type, name, place].join("\0"))[0, 16]
          now = Time.now.to_f.round(3)
          @lock.synchronize do
            cause = @causes[fingerprint]
            next if cause.nil? && @causes.size >= MAX_CAUSES

            cause ||= @causes[fingerprint] = Cause.new(0, nil, nil, nil, Clock.now)
            if cause.times.zero?
              cause.record = record(fingerprint, error, type, name, place, message, details)
              cause.since = now
            end
            cause.times += 1
            cause.last = now
          end
        end

        # @param all [Boolean] also those whose time has not come
        # @return [Array<Hash{String=>Object}>] what is to be reported now
        def take(all: false)
          now = Clock.now
          @lock.synchronize do
            due = @causes.values.select { |cause| all || cause.due <= now }
            due, over = due.partition { |cause| cause.times.positive? }
            @causes.delete_if { |_, cause| over.include?(cause) }
            due.map { |cause| taken(cause, now) }
          end
        end

        private

        def taken(cause, now)
          {**cause.record, "count" => cause.times, "first" => cause.since, "last" => cause.last}.tap do
            cause.times = 0
            cause.record = nil
            cause.due = now + PAUSE_SECONDS
          end
        end

        def record(fingerprint, error, type, name, place, message, details)
          fields = details.slice(*FIELDS).transform_keys(&:name)
          {"fingerprint" => fingerprint, "type" => type.to_s, "class" => name,
           "message" => (cut(message) if @messages && message), "place" => place,
           "backtrace" => Logging::ApplicationFrame.frames(error, MAX_FRAMES), **fields}.compact
        end

        # @return [String, nil] FILE:LINE of the application; nil: it was never raised
        def place(error)
          frame = Logging::ApplicationFrame.place(error)&.then { |text| Printable.valid(text) } or return
          frame[/\A.*?:\d+/] || frame
        end

        def cut(message) = Printable.words(message, MAX_CHARACTERS)
      end
    end
  end
end
