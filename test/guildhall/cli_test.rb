# frozen_string_literal: true

require "test_helper"
require "guildhall/cli"
require "stringio"
require "json"

class CLITest < GuildhallTest
  def test_lists_the_commands
    [[], ["help"], ["--help"]].each do |arguments|
      status, out, = run_cli(*arguments)
      assert_equal 0, status
      assert_match(/^  info +Show Ruby/, out)
      assert_match(/^  version +Print/, out)
    end
  end

  def test_version
    assert_equal [0, "guildhall #{Guildhall::VERSION}\n", ""], run_cli("version")
    assert_equal [0, "guildhall #{Guildhall::VERSION}\n", ""], run_cli("--version")
  end

  def test_info_names_what_is_there
    status, out, = run_cli("info")
    assert_equal 0, status
    assert_match(/^Ruby +#{Regexp.escape(RUBY_DESCRIPTION)}/, out)
    assert_match(%r{^extension guildhall +/.*native}, out)
    assert_match(/^librdkafka +\d+\.\d+/, out)
    assert_match(/^worker Ractors +\d+ by default/, out)
  end

  def test_help_of_a_command
    status, out, = run_cli("info", "--help")
    assert_equal 0, status
    assert_includes out, "usage: guildhall info"
  end

  def test_a_wrong_name_suggests_the_right_one
    status, _, err = run_cli("verson")
    assert_equal 2, status
    assert_includes err, "no command verson; did you mean version?"
  end

  def test_a_wrong_option
    status, _, err = run_cli("info", "--bogus")
    assert_equal [2, "guildhall: invalid option: --bogus (guildhall info --help)\n"], [status, err]
    assert_equal "guildhall: invalid option: --jsn; did you mean --json? (guildhall info --help)\n", run_cli("info", "--jsn=1")[2]
    assert_equal "guildhall: invalid argument: --limit x (guildhall dlq list --help)\n", run_cli("dlq", "list", "--limit", "x")[2]
  end

  def test_an_abbreviation_of_an_option_is_no_option
    assert_equal [2, "", "guildhall: invalid option: --to; did you mean --topic? (guildhall dlq discard --help)\n"],
      run_cli("dlq", "discard", "--all", "--to", "orders")
    assert_equal [2, "", "guildhall: invalid option: --jso; did you mean --json? (guildhall info --help)\n"], run_cli("info", "--jso")
  end

  def test_arguments_in_other_encodings
    status, _, err = run_cli("info", "\xFF")
    assert_equal [2, "guildhall: invalid byte sequence in UTF-8: \"\\xFF\" (guildhall info --help)\n"], [status, err]
    assert_equal "guildhall: unexpected argument: é (guildhall info --help)\n", run_cli("info", "é".dup.force_encoding("US-ASCII"))[2]
  end

  def test_output_that_cannot_be_written
    skip "there is no /dev/full" unless File.exist?("/dev/full")
    _, err, status = run_command(["sh", "-c", "exec #{RbConfig.ruby} exe/guildhall version > /dev/full"])
    assert_equal [1, "guildhall: standard output: No space left on device\n"], [status.exitstatus, err]
  end

  def test_help_of_help_and_the_order_of_notes
    assert_includes run_cli("help", "--help")[1], "usage: guildhall help [COMMAND]"
    assert_match(/2 wrong usage\.\n\z/, run_cli("advise", "--help")[1])
  end

  # As from a Gemfile with `path:`.
  def test_without_the_c_extension_it_says_what_to_do
    hidden = "$LOAD_PATH.unshift('lib').reject! { |path| File.exist?(File.join(path, 'guildhall/native.so')) }"
    run = ->(*arguments) { run_command([RbConfig.ruby, "-e", "#{hidden}; ARGV.replace(#{arguments.inspect}); load 'exe/guildhall'"]) }
    out, err, status = run.call("doctor", "no-such-folder/")
    assert_equal ["", 1, 1], [out, status.exitstatus, err.lines.size], err
    assert_match(%r{guildhall/native.so: the C extension of Guildhall is not built for this Ruby. Run `gem pristine guildhall`; in a checkout, bin/setup}, err)
    out, err, = run.call("info", "--json")
    assert_match(%r{\Amissing \(cannot load such file -- guildhall/native}, ::JSON.parse(out)["extension_guildhall"], err)
  end

  def test_stray_arguments_are_refused
    {%w[info extra] => "extra", %w[version x] => "x", %w[server -r a.rb b.rb] => "b.rb", %w[dlq list nope] => "nope"}.each do |arguments, name|
      status, _, err = run_cli(*arguments)
      assert_equal [2, true], [status, err.include?("unexpected argument: #{name}")], err
    end
  end

  def test_help_takes_a_command
    assert_includes run_cli("help", "server")[1], "usage: guildhall server"
    assert_includes run_cli("help", "dlq", "list")[1], "usage: guildhall dlq list"
    assert_equal 2, run_cli("help", "foo").first
  end

  def test_info_as_json
    status, out, = run_cli("info", "--json")
    info = ::JSON.parse(out)
    assert_equal [0, Guildhall::VERSION, true], [status, info["guildhall"], info["ruby"].start_with?(RUBY_DESCRIPTION)]
    assert_equal Etc.nprocessors, info["cores"], "numbers are numbers"
  end

  def test_server_needs_an_application
    status, _, err = run_cli("server", "-r", "./no-such-file.rb")
    assert_equal 2, status
    assert_includes err, "no file ./no-such-file.rb"
  end

  def test_the_commands_of_dlq
    [["dlq"], ["dlq", "--help"]].each do |arguments|
      status, out, = run_cli(*arguments)
      assert_equal 0, status
      assert_match(/^  list +Print dead letters.*\n  show +Print.*\n  replay +Send dead letters back.*\n  discard +Mark/, out)
    end
    status, out, = run_cli("dlq", "replay", "--help")
    assert_equal 0, status
    ["usage: guildhall dlq replay", "--all", "--rest", "--offsets RANGE", "--to TOPIC", "nothing is replayed twice"]
      .each { |text| assert_includes out, text }
    status, _, err = run_cli("dlq", "lst")
    assert_equal 2, status
    assert_includes err, "no command dlq lst; did you mean list?"
  end

  # `guildhall offsets reset … > plan.txt 2>&1`
  def test_what_is_printed_on_both_outputs_stays_in_order
    Dir.mktmpdir do |folder|
      files = Array.new(2) { File.open("#{folder}/log", "a") }
      files.last.sync = true # as standard error
      cli = Guildhall::CLI.new(out: files.first, err: files.last)
      command = Class.new(Guildhall::CLI::Command) do
        def self.command_name = "both"
        def self.summary = "Print on both"
        def call(_arguments) = 3.times { |i| (i.odd? ? @err : @out).puts(i) }
      end
      cli.define_singleton_method(:command) { |_| command }
      assert_equal [3, "0\n1\n2\n"], [cli.run(["both"]), File.read("#{folder}/log")]
    ensure
      files.each(&:close)
    end
  end

  def test_an_interrupted_command
    err = StringIO.new
    cli = Guildhall::CLI.new(err:)
    cli.define_singleton_method(:command) { |_| raise Interrupt }
    assert_equal [130, "guildhall: interrupted\n"], [cli.run(["doctor"]), err.string]
  end

  def test_a_reader_that_has_enough
    out, writer = IO.pipe
    out.close
    assert_equal 141, Guildhall::CLI.new(out: writer.tap { |io| io.sync = true }).run(["version"])
  ensure
    writer.close
  end

  def test_the_version_is_that_of_guildhall_for_each_command
    out, = run_command([RbConfig.ruby, "exe/guildhall", "info", "--version"])
    assert_equal "guildhall #{Guildhall::VERSION}\n", out
  end

  private

  def run_cli(*arguments)
    out = StringIO.new
    err = StringIO.new
    status = Guildhall::CLI.new(out:, err:).run(arguments)
    [status, out.string, err.string]
  end
end
