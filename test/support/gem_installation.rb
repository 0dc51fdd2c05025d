# frozen_string_literal: true

require "fileutils"
require_relative "../../tool/environment"

# Gems that only some tests need are installed by them, each when it needs them.
module GemInstallation
  # Bundler's own lock does not keep two processes from building one gem at the same time.
  def self.alone
    FileUtils.mkdir_p(Environment::BUILD)
    File.open(File.join(Environment::BUILD, "gems.installing"), "w") do |lock|
      lock.flock(File::LOCK_EX)
      yield
    end
  end
end
