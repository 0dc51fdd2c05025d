# frozen_string_literal: true

# What Bundler requires for the gem of that name; in an application of Rails, which is loaded by then, with what ties both together.
require_relative "guildhall/kafka"
require_relative "guildhall/kafka/rails" if defined?(Rails::Railtie)
