# frozen_string_literal: true

require "rack"
require "guildhall/kafka" # of another gem: not by relative path

module Guildhall
  # The dashboard: a Rack application that shows what a Kafka cluster and its consumer groups do, and why.
  #
  #     mount Guildhall::Web.new(authorize: ->(request, _action, _target) { Admin.from(request)&.email }) => "/guildhall"
  #
  # It asks the brokers, and only while somebody looks; processes of the application need no setting for that. Without `authorize` every
  # page answers 403, with the line to add. Main Ractor; any thread may call it.
  class Web
    # Seconds for which an answer of the brokers is shown again, so that many viewers cost no more than one.
    FRESH_SECONDS = 2

    # @return [Access] who may see what
    attr_reader :access
    # @return [Assets]
    attr_reader :assets

    # @param authorize [#call, nil] is asked with the Rack::Request, an action (`:read`: to see a page, `:payload`: also keys, headers and
    #   payloads of messages) and the name of the topic or group, or nil. Its answer is nil or false: no, else the name of who asks. nil:
    #   nobody may see anything
    # @param application [Guildhall::Kafka::Application, nil] whose cluster and routes are shown; nil: the process's own
    def initialize(authorize: nil, application: nil)
      @access = Access.new(authorize)
      @application = application
      @assets = Assets.new
      @views = Views.templates
      @lock = Mutex.new
    end

    # @param env [Hash] of Rack
    # @return [Array(Integer, Hash, #each)] of Rack. Blocks for the brokers' answers
    def call(env)
      request = Request.new(env)
      status, headers, body = request.asset? ? @assets.response(request) : Response.new(self, request).finish
      [status, headers, request.head? ? [] : body]
    end

    # @return [Guildhall::Kafka::Application]
    def application = @application || Kafka.application

    # @return [Cluster] of the application that there is now, and of this process
    def cluster
      @lock.synchronize do
        unless @cluster&.serves?(application)
          @cluster&.close
          @cluster = Cluster.new(application)
        end
        @cluster
      end
    end

    # @return [String] HTML
    # @!visibility private
    def render(view, **locals) = @views[view].render(**locals)

    # Closes its connections to the brokers; blocks for some seconds at most. The next request connects again.
    # @return [void]
    def close = @lock.synchronize { @cluster&.close && @cluster = nil }
  end
end

require_relative "web/access"
require_relative "web/assets"
require_relative "web/cluster"
require_relative "web/explorer"
require_relative "web/helpers"
require_relative "web/page"
require_relative "web/request"
require_relative "web/response"
require_relative "web/views"
