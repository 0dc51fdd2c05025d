# frozen_string_literal: true

require "test_helper"
require "tmpdir"

# Where the tests are started with signals ignored (`bin/test &` in a script), what they start has them not, and nothing waits for ever.
class DefaultSignalsTest < GuildhallTest
  IGNORING = '%w[INT QUIT HUP].each { |name| trap(name, "IGNORE") }; exec(*ARGV)'
  CHILD = '%w[INT QUIT HUP].map { |name| trap(name, "DEFAULT") }'
  TESTS = <<~RUBY.freeze
    require "test_helper"
    class SignalledTest < GuildhallTest
      def test_a_child = puts("child: \#{run_ruby("p(\#{#{CHILD.dump}})").first}")
      def test_here = puts("here: \#{%w[INT QUIT HUP].map { |name| trap(name, "DEFAULT") }.inspect}")
    end
  RUBY
  DEFAULT = %w[DEFAULT DEFAULT DEFAULT].inspect

  def test_the_runner_gives_them_their_default_effect
    out = run_tests(TESTS)
    assert_includes out, "child: #{DEFAULT}"
    assert_includes out, "here: #{DEFAULT}"
  end

  def test_a_scenario_does
    out, err, = run_ruby(IGNORING, RbConfig.ruby, "-e", <<~RUBY)
      require "#{__dir__}/integration/support/scenario"
      print IO.popen([RbConfig.ruby, "-e", "p(#{CHILD.gsub('"', "'")})"], &:read)
    RUBY
    assert_equal "#{DEFAULT}\n", out, err
  end

  def test_what_waits_without_a_limit_fails_and_says_where
    out = run_tests(<<~RUBY, env: {"TEST_LIMIT" => "1"})
      require "test_helper"
      class WaitingTest < GuildhallTest
        def test_thread = (@thread = Thread.new { sleep }).value
        def teardown = @thread&.kill&.join
        def test_after = assert(true)
      end
    RUBY
    told = out[/WaitingTest#test_thread has not ended in time; what it waits for needs a limit:.*/m].to_s
    assert_match(/in .*value.*in .*test_thread/m, told, out.byteslice(0, 2_000))
    assert_includes out, "2 runs, 1 assertions, 1 failures"
  end

  private

  def run_tests(text, env: {})
    Dir.mktmpdir do |folder|
      path = File.join(folder, "ignored_test.rb")
      File.write(path, text)
      out, err, = run_ruby(IGNORING, RbConfig.ruby, File.join(__dir__, "run.rb"), path, env:)
      "#{out}#{err}"
    end
  end
end
