# frozen_string_literal: true

# What Bundler requires for the gem of that name.
require_relative "guildhall/web"
