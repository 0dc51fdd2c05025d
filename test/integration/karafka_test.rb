# frozen_string_literal: true

require "test_helper"
require_relative "support/scenario_tests"

# The plug-in in applications of the gem karafka, which are processes of their own: see test/integration/karafka. On the broker that
# KAFKA_BOOTSTRAP_SERVERS names, or else on the embedded one. KARAFKA_GEMFILE names a Gemfile with another version of Karafka.
class KarafkaTest < GuildhallTest
  LIMIT = 120 # seconds
  APPLICATIONS = Dir[File.expand_path("karafka/*.rb", __dir__)]

  APPLICATIONS.each do |path|
    name = File.basename(path, ".rb")
    class_eval(<<~RUBY, __FILE__, __LINE__ + 1)
      def test_#{name} = assert_application(#{path.inspect}) # def test_order = assert_application(".../order.rb")
    RUBY
  end

  private

  # What is alive in this process belongs to the tests beside this one, too.
  def leaked = []

  def assert_application(path)
    gemfile = ENV.fetch("KARAFKA_GEMFILE", nil)
    out, err, status = run_command([RbConfig.ruby, path], timeout: LIMIT, env: gemfile ? {"BUNDLE_GEMFILE" => gemfile} : {})
    assert_predicate status, :success?, "#{status}\n#{out}\n#{err}"
    assert_match(/^ok/, out)
  end
end
