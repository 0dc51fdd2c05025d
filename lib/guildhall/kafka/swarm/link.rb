# frozen_string_literal: true

require "guildhall/json"
require_relative "../health"

module Guildhall
  module Kafka
    class Swarm
      # What ties a process to the parent that has forked it: it says every second how it is, and does what the parent asks. When the parent
      # is gone, it stops in order.
      class Link
        HEARTBEAT_SECONDS = 1
        STOP = "stop"
        END_NOW = "end now"

        def initialize(socket, server, health)
          @socket = socket
          @server = server
          @health = health
        end

        def start
          [["heartbeat", method(:beat)], ["orders", method(:obey)]].each do |name, work|
            Thread.new(&work).tap { |thread| thread.name = "guildhall swarm #{name}" }
          end
          self
        end

        private

        def beat
          loop do
            @socket.write("#{JSON.encode([@health.live.problems, @health.ready.problems])}\n")
            sleep(HEARTBEAT_SECONDS)
          end
        rescue SystemCallError, IOError
          nil # the other thread notices that the parent is gone
        end

        def obey
          while (order = @socket.gets(chomp: true))
            order == END_NOW ? @server.end_now : @server.stop_soon
          end
          @server.stop_soon
        rescue SystemCallError, IOError
          @server.stop_soon
        end
      end
    end
  end
end
