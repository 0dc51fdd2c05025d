# frozen_string_literal: true

require_relative "errors"

module Guildhall
  # Gems that Guildhall works with where the application has them.
  # @api private
  module SoftDependency
    # @param feature [String] what to require
    # @param gem [String] the gem that brings it
    # @param purpose [String] who needs it
    # @raise [MissingDependencyError] naming the gem to add
    def self.require!(feature, gem:, purpose:)
      require feature
    rescue LoadError => error
      raise unless error.path.nil? || error.path == feature || error.path.start_with?("#{feature}/")

      raise MissingDependencyError, "#{purpose} needs the gem #{gem}: add `gem \"#{gem}\"` to the Gemfile"
    end
  end
end
