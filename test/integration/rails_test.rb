# frozen_string_literal: true

require "fileutils"
require "tmpdir"
require "test_helper"
require_relative "../../tool/environment"

# A generated Rails application renders a thousand mails by Guildhall's templates. Its gems are a group of the Gemfile that is
# installed here, the first time.
class RailsTest < GuildhallTest
  # CI: the generated application loads all its classes at its start.
  VARIABLES = Environment.variables.merge("BUNDLE_WITH" => "rails", "RAILS_ENV" => "test", "CI" => "1").freeze
  LEFT_OUT = %w[active-record active-storage action-mailbox action-text action-cable javascript hotwire jbuilder test system-test bootsnap
                dev-gems solid kamal docker ci rubocop brakeman thruster asset-pipeline git keeps bundle bundler-audit].freeze
  PROGRAM = File.expand_path("../support/rails_mails.rb", __dir__)

  def test_a_thousand_mails
    install
    Dir.mktmpdir do |folder|
      folder = File.realpath(folder)
      run_rails(folder, "new", "app", "--quiet", *LEFT_OUT.map { |part| "--skip-#{part}" })
      application = File.join(folder, "app")
      assert_path_exists File.join(application, "config/environment.rb")
      out, err, status = run_command([RbConfig.ruby, "-W0", PROGRAM], timeout: 200, env: VARIABLES, chdir: application)
      assert_equal ["", true], [out, status.success?], err
    end
  end

  private

  def install
    bundle = File.join(RbConfig::CONFIG["bindir"], "bundle")
    plain = VARIABLES.merge("RUBYOPT" => nil, "BUNDLER_SETUP" => nil) # which Bundler has left to its children
    return if run_command([RbConfig.ruby, "-e", ""], env: VARIABLES).last.success? # with Bundler's set-up, which wants all of them

    out, err, status = run_command([bundle, "install", "--quiet"], env: plain, timeout: 300)
    assert_predicate status, :success?, "#{out}\n#{err}"
  end

  def run_rails(folder, *)
    out, err, status = run_command([RbConfig.ruby, "-W0", "-e", "load Gem.bin_path('railties', 'rails')", *], env: VARIABLES, chdir: folder, timeout: 120)
    assert_predicate status, :success?, "#{out}\n#{err}"
  end
end
