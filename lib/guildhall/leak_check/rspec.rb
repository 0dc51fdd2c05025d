# frozen_string_literal: true

require "rspec/core"
require_relative "../leak_check"

# An example that leaves a thread, a Ractor or a file descriptor behind fails.
RSpec.configure do |config|
  config.around { |example| Guildhall::LeakCheck.check { example.run } }
end
