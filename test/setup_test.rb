# frozen_string_literal: true

require "test_helper"
require "fileutils"
require "open3"
require "tmpdir"

# What bin/setup does on a machine without a Ruby that is new enough, with an apt-get that only writes down what it was asked for; and
# what comes before and after it in the other commands.
class SetupTest < GuildhallTest
  BUILD = File.expand_path("../tool/build_ruby.sh", __dir__)
  APT_GET = <<~SH
    #!/bin/sh
    echo "$1" >>"$HOME/calls"
    [ "$1" != update ] || : >"$HOME/lists"
    [ "$1" != indextargets ] || [ ! -e "$HOME/lists" ] || echo http://127.0.0.1:9/debian
  SH

  def test_without_package_lists_they_are_fetched_before_the_source
    assert_equal %w[indextargets update indextargets], calls(lists: false)
  end

  def test_package_lists_that_are_there_are_not_fetched_again
    refute_includes calls(lists: true), "update"
  end

  def test_the_help_of_the_tests_needs_no_set_up
    Dir.mktmpdir do |root|
      %w[bin/test tool/ruby.sh lib/guildhall/version.rb test/run.rb test/support/sanitizers.rb].each do |path|
        FileUtils.mkdir_p(File.dirname(File.join(root, path)))
        FileUtils.cp(File.expand_path("../#{path}", __dir__), File.join(root, path))
      end
      environment = {"RUBY" => RbConfig.ruby, "RUBYOPT" => nil, "RUBYLIB" => nil}
      out, status = Open3.capture2e(environment, File.join(root, "bin/test"), "test/guildhall", "--help")
      assert_predicate status, :success?, out
      assert_match(%r{\Ausage: bin/test .*--coverage}m, out)
    end
  end

  def test_the_console_runs_a_file_and_prints_nothing_else
    Dir.mktmpdir do |folder|
      program(folder, "a.rb", "p Guildhall::VERSION, defined?(Guildhall::Kafka), ARGV if $PROGRAM_NAME == __FILE__")
      out, status = Open3.capture2e(RbConfig.ruby, File.expand_path("../tool/console.rb", __dir__), "a.rb", "1", "-x", chdir: folder)
      assert_equal ["#{Guildhall::VERSION.inspect}\n\"constant\"\n[\"1\", \"-x\"]\n", true], [out, status.success?]
    end
  end

  private

  # The download itself fails: nothing listens there.
  def calls(lists:)
    Dir.mktmpdir do |home|
      program(home, "apt-get", APT_GET)
      program(home, "sudo", %(#!/bin/sh\nshift\nexec "$@"\n))
      FileUtils.touch(File.join(home, "lists")) if lists
      environment = {"HOME" => home, "XDG_CACHE_HOME" => home, "PATH" => "#{home}:#{ENV.fetch("PATH")}"}
      out, status = Open3.capture2e(environment, BUILD, "--step", "download")
      refute_predicate status, :success?, out
      File.readlines(File.join(home, "calls"), chomp: true)
    end
  end

  def program(folder, name, text)
    path = File.join(folder, name)
    File.write(path, text)
    File.chmod(0o755, path)
  end
end
