# frozen_string_literal: true

require "guildhall/railtie"
require_relative "../kafka"
require_relative "rails/connections"
require_relative "rails/errors"
require_relative "rails/execution"
require_relative "rails/log"
require_relative "rails/railtie"

module Guildhall
  module Kafka
    # In a Rails application: `config/guildhall.rb` is loaded, consumers run inside the application's executor, code is reloaded
    # between batches, the log and errors go where the application's go. Loaded by Bundler, as `guildhall-kafka`, where Rails is there.
    module Rails
      # Settings and routes, below the application's root.
      FILE = "config/guildhall.rb"

      class << self
        # Loads the application's settings and routes, and ties `Guildhall::Kafka.application` to Rails. Called when Rails
        # initializes; tests call it again after `Guildhall::Kafka.reset`.
        def install(rails = ::Rails.application)
          application = Kafka.application
          application.default_logger = Log.new(::Rails.logger) if ::Rails.logger
          file = rails.root.join(FILE)
          load(file.to_s) if file.file?
          tie(application, rails)
        end

        private

        def tie(application, rails)
          application.config.middleware = [Execution.new(rails), *application.config.middleware]
          application.reload_consumers { |klass| klass.name ? klass.name.constantize : klass } if rails.config.reloading_enabled?
          application.instrumentation.bridge
          application.instrumentation.subscribe("error.occurred") do |event|
            Errors.report(event.payload) unless Errors.topic_to_come?(event.payload[:error], application.config)
          end
          application.advise { Connections.problems(application.config.concurrency) }
        end
      end
    end
  end
end
