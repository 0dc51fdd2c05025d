# frozen_string_literal: true

require "rails/generators"

module Guildhall
  module Generators
    # `bin/rails generate guildhall:consumer Orders --topic orders --codec json`: a consumer, its route and its test.
    class ConsumerGenerator < ::Rails::Generators::NamedBase
      # What the route has as deserializer.
      CODECS = {
        "json" => "Guildhall::JSON.lazy", "msgpack" => "Guildhall::MessagePack.lazy", "yaml" => "Guildhall::YAML", "none" => nil
      }.freeze
      SETTINGS = "config/guildhall.rb"
      ROUTES = /^Guildhall::Kafka\.routes do.*\n/

      source_root File.expand_path("templates", __dir__)
      desc "Adds a consumer, its route in config/guildhall.rb, and its test"
      check_class_collision suffix: "Consumer"
      class_option :topic, type: :string, desc: "The topic (default: the name, as a file's)"
      class_option :codec, type: :string, default: "json", enum: CODECS.keys, desc: "How payloads are decoded"

      def create_consumer
        template "consumer.rb.tt", File.join("app/consumers", class_path, "#{file_name}_consumer.rb")
      end

      # `destroy` finds only a route that is as it was generated, with the same options.
      def add_route
        raise Thor::Error, "#{SETTINGS} is missing: run bin/rails generate guildhall:install first" unless File.exist?(routes_file)

        inject_into_file SETTINGS, route, after: ROUTES
        say_what_is_left if behavior == :revoke
      end

      def create_test
        kind = File.directory?(File.join(destination_root, "spec")) ? "spec" : "test"
        template "consumer_#{kind}.rb.tt", File.join(kind, "consumers", class_path, "#{file_name}_consumer_#{kind}.rb")
      end

      private

      def routes_file = File.join(destination_root, SETTINGS)

      def say_what_is_left
        found = File.readlines(routes_file).each_with_index.select { |line, _| line.match?(/^\s*consumer #{consumer}\b/) }
        lines = found.map { |_, index| index + 1 }
        return if lines.empty?

        say_status :left, "#{SETTINGS}:#{lines.join(", ")} still routes to #{consumer}, differently than generated: remove that route", :red
      end

      def file_name = super.delete_suffix("_consumer")
      def topic = options[:topic] || file_name
      def consumer = "#{class_name.delete_suffix("Consumer")}Consumer"
      def payload = CODECS[options[:codec]] ? '{"id" => 7}' : '"7"'

      def route
        codec = CODECS[options[:codec]]
        settings = ["consumer #{consumer}", *("deserializer #{codec}" if codec), "initial_offset :earliest",
                    "# Without it, a message that fails is retried for ever.",
                    "# dead_letter_queue topic: #{"#{topic}.dead".inspect}, max_retries: 3"]
        lines = ["topic #{topic.inspect} do", *settings.map { |line| "  #{line}" }, "end"]
        "#{lines.map { |line| "  #{line}\n" }.join}\n"
      end
    end
  end
end
