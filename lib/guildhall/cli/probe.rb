# frozen_string_literal: true

require "socket"

module Guildhall
  class CLI
    # `guildhall probe`: asks the server process on this machine whether it is alive or ready, for supervisors that run a command. Exit
    # status 0: yes; 1: no, or no answer; 2: wrong usage.
    #
    # `exe/guildhall` runs it before anything else is loaded, and `generate guildhall:install` writes its {.script}, because it
    # is run every few seconds: it needs nothing but Ruby and its sockets.
    class Probe
      USAGE = "usage: guildhall probe [live|ready] [--port N] [--host ADDRESS] [--timeout SECONDS]"
      NOTES = <<~TEXT
        Ask the server process here whether it is alive (or ready)

            --port N           its config.health (default: GUILDHALL_HEALTH_PORT, or 9292)
            --host ADDRESS     default: 127.0.0.1
            --timeout SECONDS  for the connection and the answer (default: 1)

        Exit status: 0 yes, 1 no or no answer, 2 wrong usage.
      TEXT
      PORT = 9292
      private_constant :NOTES

      # (see Command.command_name)
      def self.command_name = "probe"

      # (see Command.summary)
      def self.summary = "Ask the server process here whether it is alive (or ready)"

      # (see Command.words)
      def self.words = %w[live ready]

      # @return [String] the command as a script of its own
      def self.script
        "#!/usr/bin/env -S ruby --disable=gems\n#{File.read(__FILE__)}\nexit(Guildhall::CLI::Probe.new.run(ARGV))\n"
      end

      # (see Command#initialize)
      def initialize(out: $stdout, err: $stderr, cli: nil)
        @out = out
        @err = err
        @cli = cli
      end

      # Blocks for the answer, at most for the timeout.
      # @return [Integer] the exit status
      def run(arguments)
        rest = arguments.flat_map { |argument| argument.start_with?("--") ? argument.split("=", 2) : [argument] }
        return help if rest.intersect?(%w[--help -h])

        @given = rest.include?("--port") || ENV.key?("GUILDHALL_HEALTH_PORT")
        port = number(rest, "--port", ENV.fetch("GUILDHALL_HEALTH_PORT", PORT)) { |text| Integer(text) }
        host = option(rest, "--host") || "127.0.0.1"
        timeout = number(rest, "--timeout", 1) { |text| Float(text) }
        what = rest.shift || "live"
        unexpected = %w[live ready].include?(what) ? rest.first : what
        unexpected ? usage("unexpected argument: #{unexpected}") : ask(host, port, what, timeout)
      rescue ::ArgumentError => error
        usage(error.message)
      end

      # (see Command#long_options)
      def long_options = USAGE.scan(/--\w+/)

      private

      def option(arguments, name)
        index = arguments.index(name) or return
        arguments.slice!(index, 2)[1] || raise(::ArgumentError, "#{name} needs a value")
      end

      def number(arguments, name, default)
        text = option(arguments, name) || default
        yield(text)
      rescue ::ArgumentError
        raise ::ArgumentError, text ? "#{name} must be a number, not #{text}" : "#{name} needs a value"
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
        hint = "; this is the default port: --port N or GUILDHALL_HEALTH_PORT" unless @given
        @err.puts("guildhall: no answer from #{host}:#{port} (config.health): #{error.message}#{hint}")
        1
      end

      def help
        @out.puts(USAGE, NOTES)
        0
      end

      def usage(problem)
        @err.puts("guildhall: #{problem}", USAGE)
        2
      end
    end
  end
end
