# frozen_string_literal: true

require "fileutils"
require "tmpdir"
require_relative "../../tool/built_gems"

# The gems of this checkout, built and installed once for all tests that use them as a user would.
module InstalledGems
  # @return [BuiltGems]
  def self.gems
    @gems ||= begin
      home = File.realpath(Dir.mktmpdir("gems"))
      owner = Process.pid
      at_exit { FileUtils.rm_rf(home) if Process.pid == owner }
      BuiltGems.new(home).install
    end
  end

  # @return [String] the GEM_HOME
  def self.home = gems.home
end
