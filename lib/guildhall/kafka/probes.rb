# frozen_string_literal: true

require "openssl"
require "socket"
require "guildhall/clock"
require "guildhall/json"

module Guildhall
  module Kafka
    # Answers `GET /live`, `/ready` and `/metrics` over HTTP: 200, or 503 with the reasons as text; with a token in the settings also
    # `/state`, as JSON, to who sends that token (`Authorization: Bearer TOKEN`); anything else is 404. {#start} does so in a
    # thread. The parent of a swarm, which must not have threads because it forks, calls {#answer} in its own loop instead.
    # @api private
    class Probes
      HOST = "0.0.0.0" # where `config.health` has no `host:`
      MAX_BYTES = 8_192 # of a request, and of one read
      PATIENCE_SECONDS = 5 # for a request to come, and for its response to be read
      MAX_CLIENTS = 64 # at a time; others wait, so that a flood of connections cannot use up the application's file descriptors
      PACE_SECONDS = 1 # between two looks for clients whose time is over
      STATUS = {200 => "OK", 401 => "Unauthorized", 404 => "Not Found", 500 => "Internal Server Error", 503 => "Service Unavailable"}.freeze
      TEXT = "text/plain; version=0.0.4; charset=utf-8" # as Prometheus wants it
      TYPES = {"/state" => "application/json"}.freeze
      # response: what is still to be sent of it; nil: the request is not complete.
      Client = Struct.new(:socket, :limit, :request, :response)
      private_constant :HOST, :MAX_BYTES, :PATIENCE_SECONDS, :MAX_CLIENTS, :PACE_SECONDS, :STATUS, :TEXT, :TYPES, :Client

      # @param settings [Hash{Symbol=>Object}] `config.health`: port: (0: any that is free), and perhaps host: and token:
      # @yieldreturn [Hash] what `/state` answers
      # @raise [ConfigurationError] where the port cannot be listened on
      def initialize(settings, health, metrics = [], &state)
        @health = health
        @token = settings[:token] if state
        @state = state
        @prometheus = metrics.find { |backend| backend.respond_to?(:text) }
        @clients = []
        @listeners = Socket.tcp_server_sockets(settings.fetch(:host, HOST), settings.fetch(:port))
      rescue SystemCallError, SocketError => error
        raise ConfigurationError, "config.health #{settings.except(:token)}: #{error.message}"
      end

      def port = @listeners.first.local_address.ip_port

      def start
        stopped, @stopper = IO.pipe
        @thread = Thread.new { serve(stopped) }
        @thread.name = "guildhall health"
        @thread.report_on_exception = false
        self
      end

      # Blocks until the thread has ended.
      def stop
        @stopper.close
        @thread.join(PATIENCE_SECONDS)
        close
      end

      # @return [Array<IO>] on which requests come
      def sockets = [*(@listeners unless full?), *@clients.reject(&:response).map(&:socket)]

      # Answers the requests that are there. Does not block.
      def answer
        @listeners.each { |listener| accept(listener) }
        @clients.reject! { |client| done?(client) }
      end

      # Needed at the end, and in a process that was forked.
      def close
        [*@listeners, *@clients.map(&:socket)].each(&:close)
        @clients.clear
      end

      private

      def serve(stopped)
        loop do
          sending = @clients.select(&:response).map(&:socket)
          readable, = IO.select([stopped, *sockets], sending, nil, PACE_SECONDS)
          return stopped.close if readable&.include?(stopped)

          answer
        end
      end

      def full? = @clients.size >= MAX_CLIENTS

      def accept(listener)
        while !full? && (accepted = listener.accept_nonblock(exception: false)).is_a?(Array)
          @clients << Client.new(accepted.first, Clock.now + PATIENCE_SECONDS, String.new)
        end
      rescue SystemCallError
        sleep(0.05) # no file descriptor is free: the client waits, and the loop must not spin meanwhile
      end

      # @return [Boolean] whether the connection is closed now
      def done?(client)
        if client.response.nil? && (read(client) || Clock.now > client.limit)
          client.response = response_to(client.request)
          client.limit = Clock.now + PATIENCE_SECONDS
        end
        send_response(client) if client.response
        return false unless client.response&.empty? || Clock.now > client.limit

        client.socket.close
        true
      rescue StandardError # others must be answered
        client.socket.close
        true
      end

      # @return [Boolean] whether the request is complete, or no more of it will be read
      def read(client)
        until client.request.include?("\r\n\r\n") || client.request.bytesize > MAX_BYTES
          text = client.socket.read_nonblock(MAX_BYTES, exception: false)
          return text.nil? unless text.is_a?(String)

          client.request << text
        end
        true
      end

      def send_response(client)
        sent = client.socket.write_nonblock(client.response, exception: false)
        client.response = client.response.byteslice(sent..) if sent.is_a?(Integer)
      end

      def response_to(request)
        method, path = request.match(%r{\A(GET|HEAD) (/[^\s?]*)\S* HTTP/1})&.captures
        status, text = outcome(path, request)
        type = status == 200 ? TYPES.fetch(path, TEXT) : TEXT
        "HTTP/1.1 #{status} #{STATUS.fetch(status)}\r\nContent-Type: #{type}\r\nCache-Control: no-store\r\n" \
          "Content-Length: #{text.bytesize}\r\nConnection: close\r\n\r\n#{text unless method == "HEAD"}"
      end

      def outcome(path, request)
        case path
        when "/live" then of_health(@health.live)
        when "/ready" then of_health(@health.ready)
        when "/metrics" then @prometheus ? [200, @prometheus.text] : [404, "config.metrics has no Guildhall::Kafka::Metrics::Prometheus\n"]
        when "/state" then of_state(request)
        else nothing
        end
      rescue StandardError, ScriptError => error
        [500, "#{error.class}\n"] # its message may quote a payload
      end

      def nothing = [404, "there are /live, /ready and /metrics, for GET and HEAD\n"]

      # Without a token there is no such path. The comparison takes as long whatever was sent.
      def of_state(request)
        return nothing unless @token
        return [401, "/state needs the header Authorization: Bearer TOKEN, with the token of config.health\n"] unless authorized?(request)

        [200, "#{JSON.encode(@state.call)}\n"]
      end

      def authorized?(request)
        given = request[/^authorization:[ \t]*bearer[ \t]+(\S+)[ \t]*\r?$/i, 1]
        !given.nil? && OpenSSL.secure_compare(@token, given)
      end

      def of_health(answer) = [answer.ok? ? 200 : 503, "#{answer}\n"]
    end
  end
end
