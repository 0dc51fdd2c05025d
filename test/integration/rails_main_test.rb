# frozen_string_literal: true

require "tmpdir"
require "test_helper"

# Guildhall in an application of Rails main, which is made shareable: see rails/main.rb. RAILS_MAIN and RACK_MAIN name checkouts of Rails and of
# Rack, RAILS_MAIN_GEMS Bundler's folder with the gems that they need (left out: the checkout's own). Nothing is fetched.
class RailsMainTest < GuildhallTest
  PROGRAM = File.expand_path("rails/main.rb", __dir__)
  PARTS = %w[activesupport activemodel activerecord actionview actionpack railties activejob].freeze
  CHECKOUTS = ENV.values_at("RAILS_MAIN", "RACK_MAIN").freeze

  def test_an_application_that_is_shareable
    skip "RAILS_MAIN and RACK_MAIN name no checkouts of Rails and Rack" unless CHECKOUTS.all?
    skip "Rails is made shareable on Ruby 4.0 and later" if RUBY_VERSION < "4.0"

    Dir.mktmpdir do |folder|
      folder = File.realpath(folder)
      gemfile = File.join(folder, "Gemfile")
      File.write(gemfile, ["source Gem.sources.first.uri.to_s", *gems.map { |name, path| "gem #{name.dump}#{", path: #{path.dump}" if path}" }].join("\n"))
      bundle = File.join(RbConfig::CONFIG["bindir"], "bundle")
      assert_run([bundle, "install", "--local", "--quiet"], folder, gemfile, "RUBYOPT" => nil)
      assert_match(/^ok Rails/, assert_run([RbConfig.ruby, "-W0", PROGRAM, File.join(folder, "shop")], folder, gemfile, "RUBYOPT" => "-rbundler/setup"))
    end
  end

  private

  def gems
    rails, rack = CHECKOUTS
    {**PARTS.to_h { |part| [part, File.join(rails, part)] }, "rack" => rack, "sqlite3" => nil, "guildhall" => Environment::ROOT, "guildhall-kafka" => Environment::ROOT}
  end

  # @return [String] what it writes
  def assert_run(command, folder, gemfile, more)
    env = {**Environment.variables, "BUNDLE_GEMFILE" => gemfile, "BUNDLER_SETUP" => nil, "BUNDLE_WITHOUT" => nil, "RAILS_ENV" => "production", **more}
    env["BUNDLE_PATH"] = ENV["RAILS_MAIN_GEMS"] if ENV["RAILS_MAIN_GEMS"]
    out, err, status = run_command(command, timeout: 300, env:, chdir: folder)
    assert_predicate status, :success?, "#{out}\n#{err}"
    out
  end
end
