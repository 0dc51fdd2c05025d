# frozen_string_literal: true

require "rails/railtie"
require_relative "../../kafka/producing/producer"

module Guildhall
  module Kafka
    module Rails
      # What `guildhall-kafka` adds to a Rails application, without a line of the application's own.
      class Railtie < ::Rails::Railtie
        railtie_name :guildhall

        initializer "guildhall.active_job", before: "active_job.set_configs" do
          require_relative "../active_job" if defined?(::ActiveJob)
        end

        # Before the first Ractor: see there.
        initializer "guildhall.producer" do
          Kafka::Producing::Producer.load
        end

        initializer "guildhall.application", after: :load_config_initializers do |app|
          Rails.install(app)
        end
      end
    end
  end
end
