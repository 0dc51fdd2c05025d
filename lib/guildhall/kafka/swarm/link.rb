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
        SIGNALS = %w[TSTP CONT TTIN].freeze # their names are orders: a process that was just forked would ignore the signals

        # @param socket [UNIXSocket]
        # @param server [Server]
        # @param health [#live, #ready]
        def initialize(socket, server, health)
          @socket = socket
          @server = server
          @health = health
        end

        # @return [self]
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
            case order
            when *SIGNALS then @server.obey(order)
            when END_NOW then @server.end_now
            else @server.stop_soon
            end
          end
          @server.stop_soon
        rescue SystemCallError, IOError
          @server.stop_soon
        end
      end
    end
  end
end
