# frozen_string_literal: true

require "rails/railtie"
require_relative "pool"

module Guildhall
  # What Guildhall adds to a Rails application. Its servers and tools fork (Puma, Spring, parallel tests), and on Ruby 3.4 a process with
  # live Ractors cannot be forked safely. So the workers end before each fork, whether Puma's `before_fork` says so or not, and start again
  # with the next batch. Loaded where Rails is loaded before Guildhall, as by Bundler.
  # @api private
  class Railtie < ::Rails::Railtie
    Pool::ForkTracking.rest_before_forks
  end
end
