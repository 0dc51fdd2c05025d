# frozen_string_literal: true

require "rails/generators"
require "guildhall/cli/probe"

module Guildhall
  # What Rails finds by the names of commands: `bin/rails generate guildhall:NAME`.
  # @api private
  module Generators
    # `bin/rails generate guildhall:install`: what an application needs to consume Kafka.
    class InstallGenerator < ::Rails::Generators::Base
      PROCESS = "consumer: bin/guildhall server\n"
      PROCFILES = ["Procfile.dev", "Procfile"].freeze
      private_constant :PROCESS, :PROCFILES

      source_root File.expand_path("templates", __dir__)
      desc "Adds config/guildhall.rb, app/consumers, bin/guildhall, a line for process managers and a compose file with Kafka"

      def create_configuration
        template "guildhall.rb.tt", "config/guildhall.rb"
      end

      def create_consumer
        template "application_consumer.rb.tt", "app/consumers/application_consumer.rb"
      end

      def create_binstub
        template "bin/guildhall.tt", "bin/guildhall"
        chmod "bin/guildhall", 0o755, verbose: false
      end

      # The command as a script of its own, for probes: starting Bundler would take longer than the question.
      def create_probe
        create_file "bin/guildhall-probe", CLI::Probe.script
        chmod "bin/guildhall-probe", 0o755, verbose: false
      end

      def add_process
        file = PROCFILES.find { |name| File.exist?(path_of(name)) }
        return create_file(PROCFILES.first, "web: bin/rails server\n#{PROCESS}") unless file

        append_to_file(file, File.read(path_of(file)).match?(/[^\n]\z/) ? "\n#{PROCESS}" : PROCESS)
      end

      def create_compose_file
        template "compose.kafka.yaml.tt", "compose.kafka.yaml"
      end

      # Rails' own bin/dev starts the web server alone; other gems make one that starts what Procfile.dev has.
      def say_how_to_start
        return if behavior == :revoke || starts_processes?

        say "\nbin/dev starts the web server only. Start the consumers beside it with bin/guildhall server, or both by the gem foreman: " \
            "foreman start -f Procfile.dev"
      end

      private

      def application_name = Rails.application.class.module_parent_name.underscore
      def active_record? = defined?(::ActiveRecord::Railtie)
      def path_of(name) = File.join(destination_root, name)
      def starts_processes? = File.exist?(path_of("bin/dev")) && File.read(path_of("bin/dev")).include?("Procfile")
    end
  end
end
