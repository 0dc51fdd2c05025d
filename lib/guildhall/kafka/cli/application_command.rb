# frozen_string_literal: true

module Guildhall
  module Kafka
    module CLI
      # A command that works on the user's application: it loads the file named with `-r`.
      class ApplicationCommand < Guildhall::CLI::Command
        DEFAULT_FILES = ["guildhall.rb", "config/environment.rb"].freeze

        private

        def define_options(options)
          options.on("-r", "--require FILE", "the application: configuration and routes (default: #{DEFAULT_FILES.join(" or ")})")
        end

        def call(_arguments)
          load_application
          perform
        rescue StandardError => error
          # Known here only once the application is loaded.
          raise unless defined?(Rdkafka::RdkafkaError) && error.is_a?(Rdkafka::RdkafkaError)

          raise Guildhall::Error, "Kafka: #{error.message}"
        end

        def load_application
          file = @options[:require] || DEFAULT_FILES.find { |candidate| File.exist?(candidate) }
          raise Guildhall::ArgumentError, "no application: name its file with -r ./app.rb" unless file
          raise Guildhall::ArgumentError, "there is no file #{file} to require" unless File.file?(file)

          require "guildhall/kafka"
          require File.expand_path(file)
        end
      end
    end
  end
end
