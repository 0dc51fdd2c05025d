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
        private_constant :SAFE_ERB, :ATTRIBUTES

        # @param text [String]
        # @param escape [Boolean]
        # @param trim_mode [nil]
        # @return [String]
        def self.call(text, escape:, trim_mode:)
          Temple.refuse_trim_mode(:haml, trim_mode)
          ::Haml::Parser.new({}).call(text) # raises what the engine would leave to each rendering
          ruby = Temple.compile(::Haml::Engine.new(Temple::OPTIONS.merge(escape_html: escape)), text)
          check_erb! if ruby.include?(ATTRIBUTES)
          ruby
        end

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
