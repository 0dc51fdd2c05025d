# frozen_string_literal: true

require "test_helper"
require "guildhall/cli"
require "open3"
require "stringio"
require "tempfile"

class CompletionTest < GuildhallTest
  # In bash: what TAB would offer after each of the lines.
  def test_in_bash
    check = <<~'BASH'
      source "$1"
      offer() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _guildhall; echo "${COMPREPLY[*]}"; }
      offer guildhall prof
      offer guildhall topics gr
      offer guildhall topics config --dr
      offer guildhall topics config orders u
      offer guildhall schedule en
      offer guildhall help vers
      offer guildhall probe l
      offer guildhall nothing x
      offer guildhall server -r app.rb --conc
      complete -p guildhall
    BASH
    lines = shell("bash", "--norc", "-c", check, "check")
    assert_equal ["profiles", "grow", "--dry-run", "unset", "enable", "version", "live", "", "--concurrency"], lines[..-2]
    assert_equal "complete -o default -F _guildhall guildhall", lines.last
  end

  # With zsh's own functions replaced by ones that print what they are given.
  def test_in_zsh
    skip "zsh is not installed" unless system("zsh", "-fc", "true", err: File::NULL)
    check = <<~'ZSH'
      compdef() { print "compdef $*" }
      _describe() { print -l -- ${(P)2} }
      _files() { print files }
      source "$1"
      offer() { words=("$@"); CURRENT=$#; _guildhall }
      offer guildhall '' | grep '^topics'
      offer guildhall topics x | head -1
      offer guildhall topics config -- | grep dry
      offer guildhall topics config x | tail -1
    ZSH
    assert_equal ["compdef _guildhall guildhall", "topics:List, show, create and change topics; compare them with the routes", "list:List topics",
                  "--dry-run", "files"], shell("zsh", "-fc", check, "check")
  end

  def test_every_command_and_option_is_there
    script = run_cli("completion", "bash").first
    Guildhall::CLI.new.commands.each { |command| assert_match(/^    '#{command.command_name}'\) words='.+' ;;$/, script) }
  end

  def test_which_shell
    assert_match(/\Aguildhall: for which shell\? One of bash, zsh; did you mean bash\? \(guildhall completion --help\)$/, run_cli("completion", "bsh").last)
    assert_includes run_cli("completion", "--help").first, "source <(guildhall completion bash)"
  end

  private

  # @return [Array<String>] what the shell prints, with the script as its first argument
  def shell(name, *arguments)
    Tempfile.create("completion") do |file|
      file.write(run_cli("completion", name).first)
      file.close
      out, err, status = Open3.capture3(name, *arguments, file.path)
      assert_equal ["", true], [err, status.success?]
      out.lines(chomp: true)
    end
  end

  def run_cli(*arguments)
    out = StringIO.new
    err = StringIO.new
    Guildhall::CLI.new(out:, err:).run(arguments)
    [out.string, err.string]
  end
end
