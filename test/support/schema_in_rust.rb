# frozen_string_literal: true

# The gem jsonschema_rs, a JSON Schema validator in Rust, where it builds: it does not on Ruby 4.1 (Gemfile).
module SchemaInRust
  THERE = RUBY_VERSION.to_f < 4.1
  require "jsonschema_rs" if THERE
end
