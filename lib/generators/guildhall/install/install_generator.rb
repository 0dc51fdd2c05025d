# frozen_string_literal: true

require "rails/generators"

module Guildhall
  # What Rails finds by the names of commands: `bin/rails generate guildhall:NAME`.
  module Generators
    # `bin/rails generate guildhall:install`: what an application needs to consume Kafka.
    class InstallGenerator < ::Rails::Generators::Base
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
        source = File.read(File.expand_path("../../../guildhall/cli/probe.rb", __dir__))
        create_file "bin/guildhall-probe", "#!/usr/bin/env -S ruby --disable=gems\n#{source}\nexit(Guildhall::CLI::Probe.new.run(ARGV))\n"
        chmod "bin/guildhall-probe", 0o755, verbose: false
      end

      def add_process
        line = "consumer: bin/guildhall server\n"
        file = ["Procfile.dev", "Procfile"].find { |name| File.exist?(File.join(destination_root, name)) }
        return create_file("Procfile", "web: bin/rails server\n#{line}") unless file

        append_to_file(file, File.read(File.join(destination_root, file)).match?(/[^\n]\z/) ? "\n#{line}" : line)
      end

      def create_compose_file
        template "compose.kafka.yaml.tt", "compose.kafka.yaml"
      end

      private

      def application_name = Rails.application.class.module_parent_name.underscore
    end
  end
end
