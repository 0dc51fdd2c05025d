# frozen_string_literal: true

require "socket"
require "guildhall/clock"

module Guildhall
  module Kafka
    class Swarm
      # Answers probes over HTTP, for all processes, within the parent's loop: a server would need threads, and a process with threads is
      # no good parent. `/live` and `/ready` are as those of {Kafka::Health::Server}, with a query or without; all else
      # is 404.
      class Probes
        MAX_BYTES = 8_192 # of a request, and of one read
        PATIENCE_SECONDS = 5 # with a client that sends nothing
        STATUS = {200 => "OK", 404 => "Not Found", 503 => "Service Unavailable"}.freeze
        Client = Struct.new(:socket, :request, :limit)
        private_constant :MAX_BYTES, :PATIENCE_SECONDS, :STATUS, :Client

        # @param settings [Hash{Symbol=>Object}] `config.health`, with port and host
        # @raise [SystemCallError]
        def initialize(settings, health)
          @server = TCPServer.new(*settings.values_at(:host, :port))
          @health = health
          @clients = []
        end

        def port = @server.local_address.ip_port

        # @return [Array<IO>] where something may have come
        def sockets = [@server, *@clients.map(&:socket)]

        # Does not block.
        def answer
          while (socket = @server.accept_nonblock(exception: false)).is_a?(BasicSocket)
            @clients << Client.new(socket, +"", Clock.now + PATIENCE_SECONDS)
          end
          @clients.reject! { |client| done?(client) }
        end

        # In a process that was forked, and at the end.
        def close
          sockets.each(&:close)
          @clients.clear
        end

        private

        def done?(client)
          until complete?(client.request)
            text = client.socket.read_nonblock(MAX_BYTES, exception: false)
            break unless text.is_a?(String)

            client.request << text
          end
          return false unless text.nil? || complete?(client.request) || Clock.now > client.limit

          reply(client)
          true
        rescue SystemCallError, IOError
          client.socket.close
          true
        end

        def complete?(request) = request.include?("\r\n\r\n") || request.bytesize > MAX_BYTES

        # It fits into the socket's buffer.
        def reply(client)
          status, text = outcome(client.request[%r{\AGET (/[^\s?]*)\S* HTTP/1}, 1])
          client.socket.write_nonblock("HTTP/1.1 #{status} #{STATUS.fetch(status)}\r\nContent-Type: text/plain; charset=utf-8\r\n" \
                                       "Content-Length: #{text.bytesize}\r\nConnection: close\r\n\r\n#{text}", exception: false)
        ensure
          client.socket.close
        end

        def outcome(path)
          return [404, ""] unless %w[/live /ready].include?(path)

          answer = path == "/live" ? @health.live : @health.ready
          [answer.ok? ? 200 : 503, "#{answer}\n"]
        end
      end
    end
  end
end
