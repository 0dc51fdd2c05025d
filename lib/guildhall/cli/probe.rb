# frozen_string_literal: true

require "socket"

module Guildhall
  class CLI
    # `guildhall probe`: asks the server process on this machine whether it is alive or ready, for supervisors that run a command. Exit
    # status 0: yes; 1: no, or no answer; 2: wrong usage.
    #
    # `exe/guildhall` runs it before anything else is loaded, and `generate guildhall:install` makes a script of this file, because it
    # is run every few seconds: it needs nothing but Ruby and its sockets.
    class Probe
      USAGE = "usage: guildhall probe [live|ready] [--port N] [--host ADDRESS] [--timeout SECONDS]"
      PORT = 9292

      # (see Command.command_name)
      def self.command_name = "probe"

      # (see Command.summary)
      def self.summary = "Ask the server process here whether it is alive (or ready)"

      # (see Command#initialize)
      def initialize(out: $stdout, err: $stderr, cli: nil)
        @out = out
        @err = err
        @cli = cli
      end

      # Blocks for the answer, at most for the timeout.
      # @param arguments [Array<String>]
      # @return [Integer] the exit status
      def run(arguments)
        rest = arguments.dup
        return help if rest.intersect?(%w[--help -h])

        port = Integer(option(rest, "--port") || ENV.fetch("GUILDHALL_HEALTH_PORT", PORT))
        host = option(rest, "--host") || "127.0.0.1"
        timeout = Float(option(rest, "--timeout") || 1)
        what = rest.shift || "live"
        rest.empty? && %w[live ready].include?(what) ? ask(host, port, what, timeout) : usage
      rescue ::ArgumentError
        usage
      end

      private

      def option(arguments, name)
        index = arguments.index(name) or return
        arguments.slice!(index, 2)[1] || raise(::ArgumentError, name)
      end

      def ask(host, port, what, timeout)
        answer = Socket.tcp(host, port, connect_timeout: timeout) do |socket|
          socket.timeout = timeout
          socket.write("GET /#{what} HTTP/1.0\r\nHost: #{host}\r\n\r\n")
          socket.read
        end
        @out.puts(answer.split("\r\n\r\n", 2)[1].to_s)
        answer.match?(%r{\AHTTP/\d\.\d 200 }) ? 0 : 1
      rescue SystemCallError, IO::TimeoutError, SocketError => error
        @err.puts("guildhall: no answer from #{host}:#{port} (config.health): #{error.message}")
        1
      end

      def help
        @out.puts(USAGE)
        0
      end

      def usage
        @err.puts(USAGE)
        2
      end
    end
  end
end
