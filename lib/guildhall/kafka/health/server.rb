# frozen_string_literal: true

require "guildhall/soft_dependency"
require_relative "../health"

module Guildhall
  module Kafka
    class Health
      # Answers probes over HTTP, by the gem webrick: small, in Ruby alone, kept with Ruby itself, and without effects on the process
      # around it. `/live` and `/ready` are 200 or 503, with the reasons as text; `/metrics` is what a {Kafka::Metrics::Prometheus} of
      # `config.metrics` has.
      class Server
        # What `config.health` may have.
        DEFAULTS = {port: nil, host: "0.0.0.0"}.freeze
        TEXT = "text/plain; version=0.0.4; charset=utf-8"
        NO_LOG = 0 # below webrick's lowest level; its log needs no file then
        START_SECONDS = 5
        private_constant :TEXT, :NO_LOG, :START_SECONDS

        # @option settings [Integer] port 0: any that is free
        # @option settings [String] host the address to listen on; "0.0.0.0" unless set
        # @raise [MissingDependencyError] without the gem webrick
        # @raise [Errno::EADDRINUSE]
        def initialize(settings, health, metrics)
          SoftDependency.require!("webrick", gem: "webrick", purpose: "config.health")
          port, host = DEFAULTS.merge(settings).values_at(:port, :host)
          @started = Thread::Queue.new
          @server = WEBrick::HTTPServer.new(Port: port, BindAddress: host, Logger: WEBrick::Log.new(nil, NO_LOG), AccessLog: [],
            StartCallback: -> { @started.close })
          mount("/live") { health.live }
          mount("/ready") { health.ready }
          text = metrics.find { |backend| backend.respond_to?(:text) }
          @server.mount_proc("/metrics") { |_, response| reply(response, 200, text.text) } if text
        end

        def port = @server.config[:Port]

        # Blocks until it serves: webrick forgets a shutdown that comes before.
        def start
          @thread = Thread.new { @server.start }
          @thread.name = "guildhall health"
          @thread.report_on_exception = false
          @started.pop(timeout: START_SECONDS)
          self
        end

        # Blocks until it has ended.
        def stop
          @server.shutdown
          @thread&.join(5)
          WEBrick::Utils::TimeoutHandler.terminate # a thread of webrick's own
        end

        private

        def mount(path)
          @server.mount_proc(path) do |_, response|
            answer = yield
            reply(response, answer.ok? ? 200 : 503, "#{answer}\n")
          end
        end

        def reply(response, status, body)
          response.status = status
          response.content_type = TEXT
          response.body = body
        end
      end
    end
  end
end
