# frozen_string_literal: true

Guildhall::SoftDependency.require!("slim", gem: "slim", purpose: "engine: :slim")
require_relative "temple"

module Guildhall
  class Template
    module Engines
      # The gem slim.
      module Slim
        def self.call(text, escape:, trim_mode:)
          Temple.refuse_trim_mode(:slim, trim_mode)
          Temple.compile(::Slim::Engine.new(Temple::OPTIONS.merge(disable_escape: !escape)), text)
        end
      end
    end
  end
end
