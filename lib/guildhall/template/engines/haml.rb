# frozen_string_literal: true

Guildhall::SoftDependency.require!("haml", gem: "haml", purpose: "engine: :haml")
require_relative "temple"

module Guildhall
  class Template
    module Engines
      # The gem haml.
      module Haml
        # It escapes attributes that are known only when they are written by this function, which workers may call since then.
        SAFE_ERB = Gem::Version.new("6.0.0")
        ATTRIBUTES = "::Haml::AttributeBuilder"
        # What writes attributes whose names are computed as well.
        NAMES = "#{ATTRIBUTES}.build(".freeze
        private_constant :SAFE_ERB, :ATTRIBUTES, :NAMES

        # @raise [IsolationError]
        def self.call(text, escape:, trim_mode:)
          Temple.refuse_trim_mode(:haml, trim_mode)
          ::Haml::Parser.new({}).call(text) # raises what the engine would leave to each rendering
          ruby = Temple.compile(::Haml::Engine.new(Temple::OPTIONS.merge(escape_html: escape)), text)
          check_erb! if ruby.include?(ATTRIBUTES)
          check_names!(ruby)
          ruby
        end

        # They are looked up in a Set of Haml's that is not frozen, because applications may add to it.
        def self.check_names!(ruby)
          return if Ractor.shareable?(::Haml::BOOLEAN_ATTRIBUTES) || !ruby.include?(NAMES)

          line = ruby.lines.index { |one| one.include?(NAMES) } + 1
          raise IsolationError, "attributes whose names are computed (line #{line}) need Haml::BOOLEAN_ATTRIBUTES, which is not " \
                                "shareable; call Ractor.make_shareable(Haml::BOOLEAN_ATTRIBUTES) before, or write the names in the template"
        end
        private_class_method :check_names!

        def self.check_erb!
          return unless defined?(::ERB) && Gem::Version.new(::ERB.version) < SAFE_ERB

          raise MissingDependencyError, "engine: :haml with attributes that are not constant needs the gem erb, version 6 or later: " \
                                        "add `gem \"erb\", \">= 6\"` to the Gemfile (Ruby #{RUBY_VERSION} brings #{::ERB.version}, " \
                                        "whose escaping workers cannot call)"
        end
        private_class_method :check_erb!
      end
    end
  end
end
