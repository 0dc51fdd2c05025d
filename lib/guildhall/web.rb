# frozen_string_literal: true

require "rack"
require "guildhall/kafka" # of another gem: not by relative path

module Guildhall
  # The dashboard: a Rack application that shows what a Kafka cluster and its consumer groups do, and why.
  #
  #     mount Guildhall::Web.new(authorize: ->(request, _action, _target) { Admin.from(request)&.email }) => "/guildhall"
  #
  # It asks the brokers, and reads what processes report (`config.reports = true`), only while somebody looks. Without `authorize` every
  # page answers 403, with the line to add. Main Ractor; any thread may call it.
  class Web
    # Seconds for which an answer of the brokers is shown again, so that many viewers cost no more than one.
    FRESH_SECONDS = 2
    COMPRESSED = %w[text/html application/json].freeze
    LEAST_BYTES = 1_400 # that are worth it: less fits into one packet
    ASKED_HERE = [nil, "same-origin", "none"].freeze # by the browser's header; nil: over http, or by something else
    private_constant :COMPRESSED, :LEAST_BYTES, :ASKED_HERE

    # @return [Access] who may see and do what
    attr_reader :access
    # @return [LetterJobs]
    # @!visibility private
    attr_reader :letter_jobs
    # @return [Forms]
    # @!visibility private
    attr_reader :forms
    # @return [Assets]
    attr_reader :assets

    # @param authorize [#call, nil] is asked with the Rack::Request, an action (`:read`: to see a page, `:payload`: also keys, headers and
    #   payloads of messages, or what is to be done, such as `:replay`) and the name of the topic, the group or the task, or nil. Its
    #   answer is nil or false: no, else the name of who asks, which is kept with what they do. nil: nobody may see anything
    # @param hide [Array<String>, Hash{String=>Array<String>}] what nobody sees of messages, and nobody can search: fields of payloads by
    #   their paths (`$.card`, `$.items[*].price`, `$..password`, in whatever case), `key`, `headers.NAME`. A Hash has them by topic; in
    #   topics that it does not name all of them are hidden, because dead letters, retries and copies are in topics of other names
    # @param application [Guildhall::Kafka::Application, nil] whose cluster and routes are shown; nil: the process's own
    # @param key [String, nil] signs forms: a secret of at least 32 bytes, the same in all replicas of the page; nil: made of the commands'
    #   private key, else one of this process and its forks
    # @param commands [Hash, nil] `private_key:` signs commands to processes (`guildhall command keys` prints a pair); `insecure: true`:
    #   they are sent without a signature; `topic:`, "guildhall.commands" unless set. nil, or a key that is nil: none are sent from here
    # @param read_only [Boolean] whether nothing can be done from this page, whatever `authorize` says
    def initialize(authorize: nil, hide: [], application: nil, key: nil, commands: nil, read_only: false)
      @access = Access.new(authorize, read_only:)
      @hidden = Hidden.by_topic(hide)
      @forms = Forms.new(Seal.new(key || commands&.fetch(:private_key, nil)))
      @letter_jobs = LetterJobs.new(self)
      @commands = commands
      @application = application
      @assets = Assets.new
      @views = Views.templates
      @lock = Mutex.new
      @compressing = Rack::Deflater.new(method(:respond), include: COMPRESSED, if: method(:compress?), sync: false)
    end

    # @param env [Hash] of Rack
    # @return [Array(Integer, Hash, #each)] of Rack. Blocks for the brokers' answers
    def call(env)
      status, headers, body = @compressing.call(env)
      [status, headers, env[Rack::REQUEST_METHOD] == Rack::HEAD ? [] : body]
    end

    # @return [String] without its keys: `rails routes` prints it
    def inspect = "#<#{self.class}>"

    # @return [Guildhall::Kafka::Application]
    def application = @application || Kafka.application

    # @return [Hidden] what is hidden of a topic's messages
    def hidden(topic) = @hidden[topic]

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

    # @return [Kafka::Commanding::Commander, nil] nil: no commands are sent from here
    # @raise [Guildhall::ArgumentError] where its key is none
    def commander
      key, insecure, topic = @commands.to_h.values_at(:private_key, :insecure, :topic)
      return unless key || insecure

      @lock.synchronize do
        @commander = [application, application.commander(private_key: key, topic:)] unless @commander&.first.equal?(application)
        @commander.last
      end
    end

    # Says in the log, and by an event, what somebody does from the page.
    # @param order [Order]
    # @param outcome [String]
    # @return [void]
    # @!visibility private
    def audit(order, outcome)
      application.open_log
      application.publish("dashboard.acted", outcome:, **order.to_h.except(:expect))
    end

    # @return [String] HTML
    # @!visibility private
    def render(view, **locals) = @views[view].render(**locals)

    # Closes its connections to the brokers; blocks for some seconds at most. The next request connects again.
    # @return [void]
    def close
      @letter_jobs.close
      @lock.synchronize { @cluster&.close && @cluster = nil }
    end

    private

    def respond(env)
      request = Request.new(env)
      request.asset? ? @assets.response(request) : Response.new(self, request).finish
    end

    # What another site makes a browser ask for is not compressed: by the length of what comes it could guess, letter by letter, what is in
    # the page beside what it has put into the address (BREACH).
    def compress?(env, _status, headers, _body)
      headers["content-length"].to_i >= LEAST_BYTES && ASKED_HERE.include?(env["HTTP_SEC_FETCH_SITE"])
    end
  end
end

require_relative "web/access"
require_relative "web/action"
require_relative "web/assets"
require_relative "web/cluster"
require_relative "web/counts"
require_relative "web/explorer"
require_relative "web/forms"
require_relative "web/helpers"
require_relative "web/hidden"
require_relative "web/json_text"
require_relative "web/letter_codec"
require_relative "web/letter_job"
require_relative "web/one_application"
require_relative "web/page"
require_relative "web/reports"
require_relative "web/request"
require_relative "web/response"
require_relative "web/seal"
require_relative "web/views"
