# frozen_string_literal: true

require "test_helper"
require "guildhall/cli"
require "json"
require "tmpdir"

class CLIAdviseTest < GuildhallTest
  TASK = "module Echo\n  def self.call(text) = text\nend\n"

  def test_files_lines_and_a_page
    Dir.mktmpdir do |folder|
      write(folder)
      status, out, = advise(folder, "--payloads", "payloads.ndjson", "--task", "echo.rb:Echo", "--json", "--html", "advice.html", "--workers", "1")
      assert_equal [1, "too_small"], [status, ::JSON.parse(out)["reason"]]
      assert_includes File.read(File.join(folder, "advice.html")), "</html>"
      status, out, = advise(folder, "--payloads", "payloads", "--task", "echo.rb:Echo", "--workers", "1")
      assert_equal 1, status
      assert_match(/payloads +2$/, out)
    end
  end

  def test_wrong_use
    Dir.mktmpdir do |folder|
      write(folder)
      {["--payloads", "payloads"] => "--task is needed", ["--task", "echo.rb:Echo"] => "--payloads PATH or --topic NAME is needed",
       ["--task", "echo.rb:Echo", "--payloads", "empty.json"] => "no payloads in empty.json",
       ["--task", "echo.rb:Echo", "--payloads", "payloads", "--limit", "0"] => "--limit must be 1 or more, not 0",
       ["--task", "echo.rb:Echo", "--payloads", "payloads", "--workers", "0"] => "workers must be 1 or more, not 0",
       ["--task", "echo.rb:Ecko", "--payloads", "payloads"] => "did you mean Echo?"}.each do |arguments, message|
        status, _, err = advise(folder, *arguments)
        assert_equal [2, true], [status, err.include?(message)], err
      end
    end
  end

  private

  def write(folder)
    File.write(File.join(folder, "echo.rb"), TASK)
    File.write(File.join(folder, "empty.json"), "")
    File.write(File.join(folder, "payloads.ndjson"), "{\"a\": 1}\n\n{\"a\": 2}\n")
    FileUtils.mkdir_p(File.join(folder, "payloads"))
    2.times { |number| File.write(File.join(folder, "payloads/#{number}.json"), "{}") }
  end

  def advise(folder, *arguments)
    command = [RbConfig.ruby, File.join(WarningsRaise::ROOT, "exe/guildhall"), "advise", "--quick", *arguments]
    out, err, status = run_command(command, chdir: folder, timeout: 120)
    [status.exitstatus, out, err]
  end
end
