# frozen_string_literal: true

require "guildhall/option_rules"

module Guildhall
  module Kafka
    # Settings are declared once, in a table of name, default, rule and sentence: {Config} has that of the application, {Routing::Topic}
    # that of a route, each filter its own. Accessors, the builder's methods, checks, `guildhall routes` and the guide's tables are made of
    # it.
    # @api private
    module Settings
      # A row of a table.
      #
      # - `rule`: the values that are allowed: an OptionRules::Rule; or a class with `settings` of its own, which the setting takes as
      #   keywords; or nil, where {Routing::TopicChecks} looks at the value.
      # - `written`: where routes do not set it by a method of its name: the method, and the keyword (a Symbol) or argument (a String).
      # - `note`: called with a value that is not the default, and the topic; returns what `guildhall routes` prints.
      # - `json`: called with the value; returns the members of the route's JSON.
      Setting = Data.define(:name, :default, :rule, :sentence, :written, :note, :json) do
        # @return [Array<String>] everything that is wrong with the value, each as a message
        def problems(value, prefix = "")
          return [] if rule.nil?
          return value.nil? ? [] : rule.settings.problems(value.to_h, "#{prefix}#{label} ") if parts

          [*rule.problem(value)&.then { |problem| "#{prefix}#{label} #{problem}" }]
        end

        # @return [String, Symbol] what messages call it: as routes write it
        def label = keyword? ? written.join(" ") : name
        def keyword? = written&.last.is_a?(Symbol)

        # @return [Table, nil] the settings that it consists of
        def parts = (rule.settings if rule.respond_to?(:settings))
        def to_json_members(value) = json ? json.call(value) : {name.to_s => Settings.plain(value)}

        # @return [Array<String>] rows of the guide's table: its own, and one for each of its parts
        def to_rows
          title = written ? "#{written.join(" ")}#{":" if keyword?}" : name
          ["| `#{title}` | #{default.inspect unless parts} | #{sentence} |",
           *parts&.flat_map { |part| part.with(written: part.written || [name, part.name]).to_rows }]
        end
      end

      # The settings of one object, in their order.
      class Table
        include Enumerable

        def initialize(&declarations)
          @settings = {}
          instance_eval(&declarations) if declarations
        end

        def setting(name, default, rule, sentence, written: nil, note: nil, json: nil)
          @settings[name] = Setting.new(name:, default: default.freeze, rule:, sentence:, written:, note:, json:)
        end

        def [](name) = @settings[name]
        def each(&) = @settings.each_value(&)
        def names = @settings.keys
        def defaults = @settings.transform_values(&:default)
        def rules = OptionRules.new("setting", **@settings.transform_values(&:rule))
        def problems(values, prefix = "") = flat_map { |setting| setting.problems(values.fetch(setting.name), prefix) }
        def to_markdown = ["| setting | default | meaning |", "|---|---|---|", *flat_map(&:to_rows)].join("\n")
      end

      # Of classes with a table.
      module Declared
        def settings = @settings ||= Table.new

        private

        def setting(...) = settings.setting(...)
      end

      # Of the Data classes that {Settings.value} makes.
      module Value
        def initialize(**given) = super(**self.class.defaults, **given)
      end

      # @param internal [Hash{Symbol=>Object}] members that are no settings, with their defaults
      # @return [Class] a Data class whose members are the settings that the block declares; what is not given has its default
      def self.value(internal = {}, &declarations)
        table = Table.new(&declarations)
        defaults = {**internal, **table.defaults}.freeze
        Data.define(*defaults.keys) do
          include Value

          define_singleton_method(:settings) { table }
          define_singleton_method(:defaults) { defaults }
        end
      end

      # @return [Object] the value, or what JSON can say of it
      def self.plain(value)
        case value
        when nil, true, false, Numeric, String then value
        when Module, Symbol, Time then value.to_s
        when Value then value.class.settings.to_h { |part| [part.name.to_s, plain(value.public_send(part.name))] }
        when Hash then value.to_h { |key, one| [key.to_s, plain(one)] }
        when Array then value.map { |one| plain(one) }
        else value.class.to_s
        end
      end
    end
  end
end
