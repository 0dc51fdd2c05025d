# frozen_string_literal: true

require "rbconfig"
require_relative "gem_installation"

# Groups of the Gemfile that only some tests need: installed the first time.
module OptionalGems
  # What Bundler says where there is no network.
  UNREACHABLE = /Could not (?:reach host|fetch specs)|Network error/

  # @return [Hash{String=>String}] the environment of processes that load a group's gems
  def self.variables(group) = Environment.variables.merge("BUNDLE_WITH" => group)

  private

  def install_gems(group)
    variables = OptionalGems.variables(group)
    plain = variables.merge("RUBYOPT" => nil, "BUNDLER_SETUP" => nil) # which Bundler has left to its children
    GemInstallation.alone do
      next if run_command([RbConfig.ruby, "-e", ""], env: variables).last.success? # with Bundler's set-up, which wants all of them

      out, err, status = run_command([File.join(RbConfig::CONFIG["bindir"], "bundle"), "install", "--quiet"], env: plain, timeout: 300)
      skip "cannot reach the registry that has the gems of the group #{group}:\n#{err}" if err.match?(UNREACHABLE)

      assert_predicate status, :success?, "#{out}\n#{err}"
    end
  end
end
