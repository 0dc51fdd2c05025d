# frozen_string_literal: true

require "fileutils"
require "tmpdir"
require_relative "../../tool/built_gems"

# The gems of this checkout, built and installed once for all tests that use them as a user would, in whichever process those run.
module InstalledGems
  FOLDER = File.realpath(Dir.mktmpdir("installed-gems"))
  OWNER = Process.pid # when the tests are loaded, before other processes are forked
  at_exit { FileUtils.rm_rf(FOLDER) if Process.pid == OWNER }

  # Waits for another process that installs them.
  # @return [BuiltGems]
  def self.gems
    @gems ||= File.open(File.join(FOLDER, "lock"), "w") do |lock|
      lock.flock(File::LOCK_EX)
      home = File.join(FOLDER, "home")
      done = File.join(FOLDER, "done")
      gems = BuiltGems.new(home)
      unless File.exist?(done)
        FileUtils.mkdir_p(home)
        gems.install
        FileUtils.touch(done)
      end
      gems
    end
  end

  # @return [String] the GEM_HOME
  def self.home = gems.home
end
