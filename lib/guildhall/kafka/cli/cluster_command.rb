# frozen_string_literal: true

require_relative "application_command"
require_relative "profile_file"

module Guildhall
  module Kafka
    module CLI
      # A command about a cluster: that of the application, or, without one, of a profile or of brokers that are named.
      class ClusterCommand < ApplicationCommand
        SETTING = /\A([\w.]+)=(.*)\z/m
        private_constant :SETTING

        private

        def define_options(options)
          super
          options.on("-b", "--brokers A,B", "brokers to connect to, as HOST:PORT: without an application, or instead of its own")
          options.on("--profile NAME", "a cluster of #{ProfileFile.new.path}: likewise (default: #{ProfileFile::NAME})")
          options.on("-X", "--setting NAME=VALUE", "a setting of librdkafka; may be repeated") { |pair| given_settings << pair }
          options.on("--json", "a line of JSON for each row") if json?
        end

        # Whether it prints rows.
        def json? = true

        def given_settings = @given_settings ||= []

        def call(arguments)
          raise Guildhall::ArgumentError, "a name is empty: is a variable of the shell not set? #{see_help}" if arguments.any?(&:empty?)

          @arguments = arguments
          super
        end

        # Whether it can do without an application where the options name a cluster.
        def cluster_alone? = true

        # The application is loaded where it is named, or where nothing else says which cluster is meant.
        def load_application
          settings = cluster
          if !cluster_alone? || @options[:require] || settings.empty?
            super
            @application = true
          else
            require "guildhall/kafka"
          end
          return if settings.empty?

          Kafka.config.kafka = {**(replaced? ? {} : Kafka.config.kafka.transform_keys(&:to_sym)), **settings}
          Kafka.config.oauth_token = nil unless Tokens.needed?(Kafka.config.librdkafka) # it is the application's cluster that wants tokens
        end

        # Whether an application was loaded: there are routes.
        def application? = @application || false

        def application_file
          file = super
          return file if file || !cluster_alone?

          raise Guildhall::ArgumentError, "no cluster: name an application with -r ./app.rb, brokers with --brokers HOST:PORT, or a " \
                                          "profile of #{ProfileFile.new.path} with --profile NAME #{see_help}"
        end

        # A profile is the whole of a cluster's settings; brokers alone may be reached in the same way as the application's.
        def replaced? = !profile.nil?

        def profile
          return @options[:profile] if @options[:profile]

          ProfileFile.new.chosen unless @options[:require] || @options[:brokers]
        end

        # @return [Hash{Symbol=>Object}] librdkafka's settings; empty: those of the application
        def cluster
          own = given_settings.to_h do |pair|
            name, value = SETTING.match(pair)&.captures
            raise Guildhall::ArgumentError, "-X takes NAME=VALUE, such as -X security.protocol=ssl #{see_help}" unless name

            [name.to_sym, value]
          end
          servers = {"bootstrap.servers": @options[:brokers]} if @options[:brokers]
          {**(profile ? ProfileFile.new.fetch(profile) : {}), **servers.to_h, **own}
        end

        # @yieldparam admin [Admin] of the cluster that the options name
        def admin(&) = Kafka.admin(&)
      end

      # A command that changes something at the brokers.
      class ChangeCommand < ClusterCommand
        private

        def define_options(options)
          super
          options.on("--dry-run", "only print what would be done")
          options.on("-y", "--yes", "do not ask")
        end

        def dry_run? = @options[:"dry-run"]

        # Says after Ctrl-C what may be done and what is not: the brokers may do what they were asked for, although their answer is not
        # waited for any more.
        # @param left [Array<String>] names that are not done; the block takes away each that is
        # @param done [String] a participle
        def accounting_for(left, done)
          yield
        rescue Interrupt
          first, *others = left
          @err.puts("#{first} may have been #{done}#{"; these were not: #{others.join(", ")}" if others.any?}") if first
          raise
        end

        # Asks before what cannot be undone, on standard error, so that standard output has rows only.
        # @return [Boolean] whether to go on
        # @raise [Guildhall::ArgumentError] where nobody can answer
        def agreed?(question)
          return true if @options[:yes]
          raise Guildhall::ArgumentError, "nobody is there to answer \"#{question}\": add --yes #{see_help}" unless $stdin.tty?

          @err.print("#{question} [y/N] ")
          answer = $stdin.gets.to_s.strip.downcase
          return true if %w[y yes].include?(answer)

          @err.puts("nothing was changed")
          false
        rescue Interrupt
          @err.puts # below the question
          raise
        end
      end
    end
  end
end
