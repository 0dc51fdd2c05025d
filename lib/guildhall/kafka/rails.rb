# frozen_string_literal: true

require "rails/railtie"
require "guildhall/railtie"
require_relative "../kafka"
require_relative "rails/connections"
require_relative "rails/execution"
require_relative "rails/log"

module Guildhall
  module Kafka
    # In a Rails application: `config/guildhall.rb` is loaded, consumers run inside the application's executor, code is reloaded
    # between batches, the log and errors go where the application's go. Loaded by Bundler, as `guildhall-kafka`, where Rails is there.
    module Rails
      # Settings and routes, below the application's root.
      FILE = "config/guildhall.rb"

      # Loads the application's settings and routes, and ties `Guildhall::Kafka.application` to Rails. Called when Rails
      # initializes; tests call it again after `Guildhall::Kafka.reset`.
      def self.install(rails = ::Rails.application)
        application = Kafka.application
        application.default_logger = Log.new(::Rails.logger) if ::Rails.logger
        file = rails.root.join(FILE)
        load(file.to_s) if file.file?
        application.config.middleware = [Execution.new(rails), *application.config.middleware]
        application.reload_consumers { |klass| klass.name ? klass.name.constantize : klass } if rails.config.reloading_enabled?
        application.instrumentation.bridge
        application.instrumentation.subscribe("error.occurred") do |event|
          ErrorReports.report(event.payload) unless ErrorReports.topic_to_come?(event.payload[:error], application.config)
        end
        application.advise { Connections.problems(application.config.concurrency, outbox: application.config.outbox) }
      end

      # Ties `guildhall-kafka` to a Rails application, which needs no line of code for it.
      # @api private
      class Railtie < ::Rails::Railtie
        railtie_name :guildhall

        initializer "guildhall.active_job", before: "active_job.set_configs" do
          require_relative "active_job" if defined?(::ActiveJob)
        end

        initializer "guildhall.application", after: :load_config_initializers do |app|
          Rails.install(app)
        end
      end
    end
  end
end
