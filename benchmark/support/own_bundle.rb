# frozen_string_literal: true

require "fileutils"
require "rbconfig"

# A contender's gems, where they cannot stand in the Gemfile beside ours: in a folder under build/, which the next run finds again.
class OwnBundle
  BUILD = File.expand_path("../../build/bundles", __dir__)
  # What the bundle around this process has set is left.
  OUTER = [*ENV.keys.grep(/\ABUNDLER_/), "BUNDLE_LOCKFILE", "GEM_HOME", "GEM_PATH", "RUBYLIB", "RUBYOPT"].to_h { |name| [name, nil] }.freeze
  private_constant :BUILD, :OUTER

  # @param name [String] of the contender
  # @param gems [Hash{String=>String}] and their versions
  def initialize(name, gems)
    @folder = File.join(BUILD, "#{name}-#{RUBY_VERSION}")
    @gems = gems
  end

  # Blocks while gems are installed.
  # @return [Boolean] whether they are there now
  def install
    FileUtils.mkdir_p(@folder)
    File.write(variables["BUNDLE_GEMFILE"], ["source Gem.sources.first.uri.to_s", *@gems.map { |gem, version| "gem #{gem.dump}, #{version.dump}" }, ""].join("\n"))
    bundle = File.join(RbConfig::CONFIG["bindir"], "bundle")
    system(variables, RbConfig.ruby, bundle, "install", chdir: @folder, in: File::NULL, out: File::NULL, err: File::NULL) || false
  end

  # @return [Hash{String=>String, nil}] for a process that is to have these gems, installed before
  def environment = {**variables, "RUBYOPT" => "-rbundler/setup"}

  private

  def variables = {**OUTER, "BUNDLE_GEMFILE" => File.join(@folder, "Gemfile"), "BUNDLE_PATH" => File.join(@folder, "gems")}
end
