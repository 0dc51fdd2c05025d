# frozen_string_literal: true

require "json"
require "rails/generators"

module Guildhall
  module Generators
    # `bin/rails generate guildhall:consumer Orders --topic orders --codec json`: a consumer, its route and its test. With
    # `--schema app/schemas/order.avsc` (Avro) or `order.json` (JSON Schema) payloads are read, and checked, as the schema says; where the
    # file is missing, it is made. With `--upsert Order` the consumer writes the messages into the table of that model, and deletes.
    class ConsumerGenerator < ::Rails::Generators::NamedBase
      # What the route has as deserializer.
      CODECS = {
        "json" => "Guildhall::JSON.lazy", "msgpack" => "Guildhall::MessagePack.lazy", "yaml" => "Guildhall::YAML", "none" => nil
      }.freeze
      # What a schema begins as, by the ending of its file.
      SCHEMAS = {
        ".avsc" => {"type" => "record", "name" => "Record", "fields" => [{"name" => "id", "type" => "long"}]},
        ".json" => {"type" => "object", "required" => ["id"], "properties" => {"id" => {"type" => "integer"}}}
      }.freeze
      # Values that a test may deliver, by types of either.
      EXAMPLES = {
        "string" => "a", "bytes" => "a", "long" => 7, "int" => 7, "integer" => 7, "number" => 7.5, "double" => 7.5, "float" => 7.5,
        "boolean" => true, "array" => [], "map" => {}, "object" => {}, "null" => nil,
        "text" => "a", "decimal" => "7.5", "date" => "2026-01-31", "datetime" => "2026-01-31T12:00:00Z", "json" => {}, "jsonb" => {}
      }.freeze
      SETTINGS = "config/guildhall.rb"
      ROUTES = /^Guildhall::Kafka\.routes do.*\n/

      source_root File.expand_path("templates", __dir__)
      desc "Adds a consumer, its route in config/guildhall.rb, and its test"
      check_class_collision suffix: "Consumer"
      class_option :topic, type: :string, desc: "The topic (default: the name, as a file's)"
      class_option :codec, type: :string, default: "json", enum: CODECS.keys, desc: "How payloads are decoded"
      class_option :schema, type: :string, desc: "A schema instead: app/schemas/NAME.avsc (Avro) or NAME.json (JSON Schema)"

      class_option :upsert, type: :string, banner: "MODEL", desc: "Writes messages into the table of this model, and deletes its rows"
      class_option :unique_by, type: :string, default: "id", desc: "With --upsert: the column that has the messages' key"

      # Before the consumer, whose test delivers what the schema asks for. One that is there stays as it is, `destroy` leaves it, too.
      def create_schema
        return if schema.nil? || behavior == :revoke || File.exist?(schema_file)
        raise Thor::Error, "--schema takes a file that ends in .avsc or .json, not #{schema}" unless SCHEMAS.key?(File.extname(schema))

        started = SCHEMAS.fetch(File.extname(schema))
        started = {**started, "name" => class_name.demodulize.singularize} if avro?
        create_file schema, "#{::JSON.pretty_generate(started)}\n"
      end

      def create_consumer
        raise Thor::Error, "--upsert reads columns from payloads: name a --codec or a --schema" if upsert? && deserializer.nil?

        template "#{"upserting_" if upsert?}consumer.rb.tt", File.join("app/consumers", class_path, "#{file_name}_consumer.rb")
      end

      # `destroy` finds only a route that is as it was generated, with the same options.
      def add_route
        raise Thor::Error, "#{SETTINGS} is missing: run bin/rails generate guildhall:install first" unless File.exist?(routes_file)

        inject_into_file SETTINGS, route, after: ROUTES
        say_what_is_left if behavior == :revoke
      end

      def create_test
        kind = File.directory?(File.join(destination_root, "spec")) ? "spec" : "test"
        template "#{"upserting_" if upsert?}consumer_#{kind}.rb.tt",
          File.join(kind, "consumers", class_path, "#{file_name}_consumer_#{kind}.rb")
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
      def schema = options[:schema]
      def schema_file = File.join(destination_root, schema)
      def avro? = File.extname(schema) == ".avsc"

      def upsert? = !options[:upsert].nil?
      def model = options[:upsert].camelize
      def unique_by = options[:unique_by]

      # @return [Hash{String=>Object}] of the model's columns that come from payloads, with values for the test; none: there is no table yet
      def columns
        @columns ||= model.constantize.columns.reject { |column| [unique_by, "id", "created_at", "updated_at"].include?(column.name) }
          .to_h { |column| [column.name, EXAMPLES[column.type.to_s]] }
      rescue NameError, ::ActiveRecord::ActiveRecordError
        @columns = {}
      end

      # MySQL and MariaDB find the unique index themselves, and take no `unique_by`.
      def upserted = finds_unique_index? ? "rows" : "rows, unique_by: :#{unique_by}"

      def finds_unique_index?
        model.constantize.connection_db_config.adapter.match?(/mysql|trilogy/)
      rescue NameError, ::ActiveRecord::ActiveRecordError
        false
      end

      # As `rows` takes them.
      def columns_of_rows = ["#{unique_by}: :key", *columns.keys.map { |name| "#{name}: #{name.inspect}" }].join(", ")

      # What the test of a consumer that upserts delivers.
      def row = {**columns, **(schema ? example : {})}.then { |found| found.empty? ? {"id" => 7} : found }

      # What the test delivers.
      def payload = schema ? example.inspect : (CODECS[options[:codec]] ? '{"id" => 7}' : '"7"')

      # @return [Hash{String=>Object}] of the fields that the schema asks for; those of other types are for the developer to fill in
      def example
        read = ::JSON.parse(File.read(schema_file))
        return read["fields"].reject { |field| field.key?("default") }.to_h { |field| [field["name"], example_of(field["type"])] } if avro?

        read["required"].to_a.to_h { |name| [name, example_of(read.dig("properties", name) || {})] }
      end

      def example_of(type)
        case type
        when Array then type.include?("null") ? nil : example_of(type.first)
        when Hash then type["enum"]&.first || type["symbols"]&.first || example_of(type["type"])
        else EXAMPLES[type]
        end
      end

      def deserializer
        return CODECS[options[:codec]] unless schema

        text = "Rails.root.join(#{schema.inspect}).read"
        avro? ? "Guildhall::Avro.new(#{text}).lazy" : "Guildhall::JSON.lazy >> Guildhall::Schema.new(#{text}).validator"
      end

      def route
        queue = "dead_letter_queue topic: #{"#{topic}.dead".inspect}, max_retries: 3"
        queue = "#{queue}, dispatch_undecodable: true" if deserializer
        queue = "# Without it, a message that fails is retried for ever.\n    # #{queue}" unless upsert?
        settings = ["consumer #{consumer}", *("deserializer #{deserializer}" if deserializer), "initial_offset :earliest", queue]
        lines = ["topic #{topic.inspect} do", *settings.map { |line| "  #{line}" }, "end"]
        "#{lines.map { |line| "  #{line}\n" }.join}\n"
      end
    end
  end
end
