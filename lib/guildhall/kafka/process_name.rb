# frozen_string_literal: true

require "socket"
require "guildhall/printable"

module Guildhall
  module Kafka
    # What this machine and its processes are called, wherever others read it: in reports, commands, the schedule's topic and on pages.
    # @api private
    module ProcessName
      MAX_HOST = 200 # characters
      private_constant :MAX_HOST

      # @return [String] of this machine; systems take any bytes for one
      def self.host(name = Socket.gethostname) = Printable.words(name, MAX_HOST)

      # Another process may get the same number.
      # @param started [Time, nil] when its application has started; nil: it has not
      # @return [String] HOST:PID:BOOT
      def self.of(started) = [host, Process.pid, (started.to_f * 1000).to_i.to_s(36)].join(":")

      # @param name [String] see {.of}
      # @return [String] without what tells it from a process that had the same number before
      def self.short(name) = name.sub(/:[^:]*\z/, "")
    end
  end
end
