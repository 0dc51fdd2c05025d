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
      # What Rails generates: it starts the web server, and nothing else.
      RAILS_DEV = %(#!/usr/bin/env ruby\nexec "./bin/rails", "server", *ARGV\n)
      private_constant :PROCESS, :PROCFILES, :RAILS_DEV

      source_root File.expand_path("templates", __dir__)
      desc "Adds config/guildhall.rb, app/consumers, bin/guildhall, the consumers to bin/dev, and a compose file with Kafka"

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

      # For a bin/dev that starts what Procfile.dev lists, as other gems make it, and for whatever else reads these files.
      def add_process
        file = PROCFILES.find { |name| File.exist?(path_of(name)) }
        return (create_file(PROCFILES.first, "web: bin/rails server\n#{PROCESS}") if dev&.include?("Procfile")) unless file

        append_to_file(file, File.read(path_of(file)).match?(/[^\n]\z/) ? "\n#{PROCESS}" : PROCESS)
      end

      # Rails' own starts the web server alone; before Rails 8 there is none. One that somebody has written stays.
      def add_to_dev
        return File.write(path_of("bin/dev"), RAILS_DEV) if behavior == :revoke && ours?(dev)
        return unless dev.nil? || dev == RAILS_DEV

        template "bin/dev.tt", "bin/dev", force: true
        chmod "bin/dev", 0o755, verbose: false
      end

      def create_compose_file
        template "compose.kafka.yaml.tt", "compose.kafka.yaml"
      end

      def say_how_to_start
        return if behavior == :revoke

        starts = dev&.match?(%r{Procfile|bin/guildhall}) ? "bin/dev starts" : "Start bin/guildhall server beside bin/dev: it starts"
        say "\n#{starts} the consumers. In development, an embedded broker starts with the first process, unless KAFKA_BOOTSTRAP_SERVERS " \
            "names one: see config/guildhall.rb."
      end

      private

      def application_name = Rails.application.class.module_parent_name.underscore
      def active_record? = defined?(::ActiveRecord::Railtie)
      def path_of(name) = File.join(destination_root, name)
      def dev = (File.read(path_of("bin/dev")) if File.exist?(path_of("bin/dev")))
      def ours?(text) = text&.include?("bin/guildhall")
    end
  end
end
