# frozen_string_literal: true

require "rake"
Dir.chdir(File.expand_path("..", __dir__))
Rake.application.run(ARGV)
