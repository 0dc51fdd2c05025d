# frozen_string_literal: true

require "fileutils"
require "tmpdir"
require "test_helper"
require "support/optional_gems"

# A generated Rails application renders a thousand mails by Guildhall's templates, and loads all of Rails beside workers. Its gems are a group
# of the Gemfile that is installed here, the first time.
class RailsTest < GuildhallTest
  include OptionalGems

  # CI: the generated application loads all its classes at its start.
  VARIABLES = OptionalGems.variables("rails").merge("RAILS_ENV" => "test", "CI" => "1").freeze
  LEFT_OUT = %w[active-record active-storage action-mailbox action-text action-cable javascript hotwire jbuilder test system-test bootsnap
                dev-gems solid kamal docker ci rubocop brakeman thruster asset-pipeline git keeps bundle bundler-audit].freeze
  MAILS = File.expand_path("../support/rails_mails.rb", __dir__)
  LATE_VARIABLES = File.expand_path("../support/rails_late_variables.rb", __dir__)

  def test_a_thousand_mails
    with_application do |application|
      out, err, status = run_command([RbConfig.ruby, "-W0", MAILS], timeout: 200, env: VARIABLES, chdir: application)
      assert_equal ["", true], [out, status.success?], err
    end
  end

  # As in development: nothing is loaded eagerly.
  def test_no_class_of_rails_gets_a_further_class_variable_beside_workers
    skip "only Ruby 4.0.0 to 4.0.5 has the bug" unless Guildhall::Pool::I18nWorkaround::AFFECTED

    with_application do |application|
      command = [RbConfig.ruby, "-W0", "-ractive_record/railtie", LATE_VARIABLES]
      File.write(File.join(application, "config/database.yml"), "test:\n  adapter: sqlite3\n  database: \":memory:\"\n")
      out, err, status = run_command(command, timeout: 200, env: VARIABLES.merge("CI" => nil), chdir: application)
      assert_predicate status, :success?, "#{out[-2_000..]}#{err[0, 2_000]}"
      warning = %r{\Aguildhall: Ruby 4\.0\.\d ends the process .* again when code changes: app/models/late\.rb\. Run Ruby 4\.0\.6, .*\n\z}
      assert_match(warning, out)
    end
  end

  private

  def with_application
    install_gems("rails")
    Dir.mktmpdir do |folder|
      folder = File.realpath(folder)
      run_rails(folder, "new", "app", "--quiet", *LEFT_OUT.map { |part| "--skip-#{part}" })
      application = File.join(folder, "app")
      assert_path_exists File.join(application, "config/environment.rb")
      yield application
    end
  end

  def run_rails(folder, *)
    out, err, status = run_command([RbConfig.ruby, "-W0", "-e", "load Gem.bin_path('railties', 'rails')", *], env: VARIABLES, chdir: folder)
    assert_predicate status, :success?, "#{out}\n#{err}"
  end
end
