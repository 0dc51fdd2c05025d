# frozen_string_literal: true

require "ipaddr"
require "guildhall/kafka/cli/cluster_command"

module Guildhall
  class Web
    module CLI
      # `guildhall web`: the dashboard, in a process of its own.
      class Web < Kafka::CLI::ClusterCommand
        HOST = "127.0.0.1"
        PORT = 9393
        THREADS = 5 # a page may wait for brokers
        PASSWORD = "GUILDHALL_WEB_PASSWORD" # an environment variable: arguments can be seen by all users of a machine
        PRIVATE_KEY = "GUILDHALL_COMMANDS_PRIVATE_KEY" # likewise
        NOTES = <<~TEXT.freeze

          With an application (-r) it shows its groups and routes, and decodes payloads as they say; without one (--brokers, --profile) what
          brokers know. It asks brokers only while somebody looks, joins no group, and changes nothing unless --actions is given.
          On this machine alone (#{HOST}) whoever reaches the port, by a name of this machine, may see all. On another address it starts only with --user and the
          password in #{PASSWORD} of the environment, or with --open: then keys and payloads of messages stay hidden.
          It needs the gem puma. Ctrl-C ends it; pressed twice, at once.
        TEXT
        private_constant :THREADS, :NOTES

        def self.summary = "Serve the dashboard: groups, topics, messages, dead letters, schedule"

        private

        def json? = false
        def hidden = @hidden ||= []

        def define_options(options)
          super
          options.on("--bind ADDRESS", "the address to listen at (default: #{HOST})")
          options.on("-p", "--port N", Integer, "the port (default: #{PORT}; 0: any that is free)")
          options.on("--user NAME", "ask for this name, and the password in #{PASSWORD}")
          options.on("--actions", "let whoever may see it also replay and discard dead letters, switch and run tasks, and,",
            "with #{PRIVATE_KEY} in the environment, command processes")
          options.on("--hide PATH", "show nobody this field of payloads, such as $.card or $..password; also key, headers.NAME.",
            "May be said several times") { |path| hidden << path }
          options.on("--open", "let anybody see it, without keys and payloads")
          options.separator(NOTES)
        end

        def call(arguments)
          @password = ENV.fetch(PASSWORD, "")
          refuse_settings
          super
        end

        # Before an application is loaded.
        def refuse_settings
          raise Guildhall::ArgumentError, "--port is a number from 0 to 65535, not #{port} #{see_help}" unless port.between?(0, 65_535)
          if @options[:user] && @password.empty?
            raise Guildhall::ArgumentError,
              "--user needs a password: set #{PASSWORD} in the environment"
          end
          if @options[:user] && @options[:open]
            raise Guildhall::ArgumentError,
              "--open asks nobody for a name: leave out --user #{see_help}"
          end
          if @options[:open] && @options[:actions]
            raise Guildhall::ArgumentError, "--open lets anybody in, who may do nothing: leave out --actions #{see_help}"
          end
          return if @options[:user] || @options[:open] || loopback?

          raise Guildhall::ArgumentError, "#{host} can be reached from other machines: add --user NAME, with the password in #{PASSWORD} " \
                                          "of the environment, or --open, which hides payloads #{see_help}"
        end

        def host = @options.fetch(:bind, HOST)
        def port = @options.fetch(:port, PORT)

        def loopback?(name = host)
          name == "localhost" || IPAddr.new(name).loopback?
        rescue IPAddr::Error
          false
        end

        # Who did what is said here, too, where the application has no log of its own.
        def watch_brokers
          Kafka.application.default_logger ||= Kafka::Logging.logger(@err, level: "warn")
          super
        end

        def perform
          require_relative "../../web"
          web = Guildhall::Web.new(authorize:, hide: hidden, read_only: !@options[:actions],
            commands: {private_key: ENV.fetch(PRIVATE_KEY, nil)})
          web.cluster.routes # wrong settings are said now, not by each page
          server = server(@options[:user] ? asking(web) : web)
          opened = listen(server)
          @err.puts("guildhall: the dashboard is at http://#{host.include?(":") ? "[#{host}]" : host}:#{opened}/ (Ctrl-C ends it)")
          thread = server.run
          reader, writer = IO.pipe # a trap may take no lock
          # Requests that wait for brokers may take seconds to end.
          interruptible(-> { writer.write_nonblock(".") }, again: "SYSTEM_DEFAULT") do
            reader.read(1)
            server.stop
            thread.join
            web.close
          end
          0
        end

        # With --user whoever gets so far has said the password. Without it a page of another site must not read this one through the
        # browser, by a name of its own that resolves to this machine.
        def authorize
          open = @options[:open]
          name = @options[:user] || "local"
          own = loopback? && !@options[:user]
          lambda do |request, action, _target|
            asked_as = request.get_header("HTTP_HOST").to_s.sub(/:\d+\z/, "")
            name unless (open && action == :payload) || action == :delete_records || (own && !loopback?(asked_as))
          end
        end

        def asking(web)
          expected = [@options[:user], @password].map(&:b)
          Rack::Auth::Basic.new(web, "Guildhall") do |*given|
            expected.zip(given).map { |one, other| Rack::Utils.secure_compare(one, other.to_s.b) }.all?
          end
        end

        def server(app)
          require "puma"
          require "puma/server"
          Puma::Server.new(app, nil, min_threads: 1, max_threads: THREADS, log_writer: Puma::LogWriter.new(@err, @err),
            environment: "production") # otherwise it shows whoever asks where in the code an error was raised
        rescue LoadError => error
          raise unless error.path == "puma"

          raise MissingDependencyError, "guildhall web needs the gem puma: add `gem \"puma\"` to the Gemfile"
        end

        # @return [Integer] the port
        def listen(server)
          # Of "localhost" Puma says no port.
          server.add_tcp_listener(host == "localhost" ? HOST : host, port).addr[1]
        rescue SystemCallError, SocketError => error
          raise Guildhall::ArgumentError, "cannot listen at #{host}, port #{port}: #{error.message}; choose another with --bind and --port"
        end
      end
    end
  end
end
