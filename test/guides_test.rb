# frozen_string_literal: true

require "test_helper"
require "support/guide"
require "tmpdir"

# The pages of docs and the READMEs, as a reader would run them: one program a page.
class GuidesTest < GuildhallTest
  def self.apart? = true

  GUIDES = Guide.all.freeze

  # A reader finds the answer in what is short. What is asked for rarely is the docstring's.
  WORDS = 30_000

  GUIDES.reject { |guide| guide.run.empty? && guide.commands.empty? }.each do |guide|
    define_method(:"test_#{guide.name.tr("/.-", "_")}") do
      skip guide.needs_ruby_4 if guide.needs_ruby_4 && RUBY_VERSION.to_f < 4.0

      Dir.mktmpdir { |folder| run_guide(guide, folder) }
    end
  end

  def test_every_block_names_its_language
    unnamed = GUIDES.flat_map do |guide|
      fences = File.readlines(File.join(Guide::ROOT, guide.name), chomp: true).each_with_index.select { |line, _| line.start_with?("```") }
      fences.each_slice(2).filter_map { |(opening, index), _| "#{guide.name}:#{index + 1}" if opening == "```" }
    end
    assert_empty unnamed
  end

  def test_what_is_not_run_says_why
    assert_empty(GUIDES.flat_map { |guide| guide.not_run.select { |_, reason| reason.to_s.size < 10 }.keys.map { |line| "#{guide.name}:#{line}" } })
  end

  def test_the_guides_are_short
    words = GUIDES.select { |guide| guide.name.start_with?("docs/") }.to_h { |guide| [guide.name, guide.words] }
    longest = words.max_by(6, &:last).map { |name, count| "#{name} (#{count})" }.join(", ")
    assert_operator words.values.sum, :<=, WORDS,
      "The prose of docs/ has grown too long. Take out as much as came in: what another page, --help, a generated table, an error's " \
      "message or a docstring says as well. The longest: #{longest}"
  end

  def test_links_lead_somewhere
    broken = GUIDES.flat_map do |guide|
      folder = File.dirname(File.join(Guide::ROOT, guide.name))
      File.read(File.join(Guide::ROOT, guide.name)).scan(/\]\(([^)#:]+)(?:#[^)]*)?\)/).flatten.uniq
        .reject { |path| File.exist?(File.expand_path(path, folder)) }.map { |path| "#{guide.name}: #{path}" }
    end
    assert_empty broken
  end

  # As GitHub makes the anchor of a heading.
  def test_links_lead_to_a_heading
    texts = [*GUIDES.map(&:name), "README-web.md", "CONTRIBUTING.md"].to_h { |name| [name, File.read(File.join(Guide::ROOT, name)).gsub(/^```.*?^```$/m, "")] }
    anchors = texts.transform_values { |text| text.scan(/^\#{2,6} (.+)$/).flatten.map { |heading| heading.downcase.gsub(/[^\p{L}\p{N} _-]/, "").tr(" ", "-") } }
    broken = texts.flat_map do |name, text|
      text.scan(/\]\(([^)#: ]*)#([^)]+)\)/).reject do |path, anchor|
        target = path.empty? ? name : File.expand_path(path, File.join("/", File.dirname(name))).delete_prefix("/")
        anchors.fetch(target, []).include?(anchor)
      end.map { |path, anchor| "#{name}: #{path}##{anchor}" }
    end
    assert_empty broken
  end

  def test_architecture_names_files_that_exist
    files = Dir[File.join(Guide::ROOT, "{lib,ext,test}/**/*.{rb,c,h}")].map { |path| "/#{path}" }
    named = File.read(File.join(Guide::ROOT, "docs/architecture.md")).scan(%r{[a-z_/]+(?:\.inc)?\.(?:rb|c|h)\b}).uniq
    assert_operator named.size, :>, 50
    assert_empty(named.reject { |name| files.any? { |path| path.end_with?("/#{name}") } })
  end

  # systemd takes a comment behind a value for a part of it, and goes on with a warning.
  def test_units_of_systemd_are_valid
    skip "no systemd-analyze here" unless system("systemd-analyze", "--version", out: File::NULL, err: File::NULL)

    units = GUIDES.flat_map { |guide| File.read(File.join(Guide::ROOT, guide.name)).scan(/^```ini\n(.*?)^```$/m).flatten }
    refute_empty units
    units.each do |unit|
      Dir.mktmpdir do |folder|
        path = File.join(folder, "orders.service")
        File.write(path, unit)
        out, err, status = run_command(["systemd-analyze", "verify", "--man=no", path], chdir: folder)
        assert_equal ["", 0], [(out + err).lines.grep(/orders\.service/).join, status.exitstatus]
      end
    end
  end

  # Each message that the page explains is one that we raise or log: what stands between two ellipses is in a line of the source.
  def test_troubleshooting_quotes_our_messages
    sources = Dir[File.join(Guide::ROOT, "{lib,ext}/**/*.{rb,c,h}")].map { |path| File.read(path) }.join.gsub(/" \\\n\s+"/, "")
    page = File.readlines(File.join(Guide::ROOT, "docs/troubleshooting.md"), chomp: true).grep(/\A\| `/)
    pieces = page.flat_map { |row| row[/\A\|(.+?)\|/, 1].scan(/`([^`]+)`/).flatten }.flat_map { |message| message.split("…") }
    assert_operator pieces.size, :>, 40
    assert_empty(pieces.map(&:strip).select { |piece| piece.size > 9 && !sources.include?(piece) })
  end

  private

  def run_guide(guide, folder)
    guide.files.each { |name, code| File.write(File.join(folder, name), code) }
    program = File.join(folder, File.basename(guide.name))
    File.write(program, guide.program)
    assert_command([RbConfig.ruby, program], folder) unless guide.run.empty?
    guide.commands.each { |command| assert_command(["sh", "-ec", command], folder) }
  end

  def assert_command(command, folder)
    path = [File.join(Guide::ROOT, "exe"), RbConfig::CONFIG["bindir"], ENV.fetch("PATH")].join(":")
    out, err, status = run_command(command, chdir: folder, env: {"PATH" => path, "LC_ALL" => "C.UTF-8"})
    assert_predicate status, :success?, "#{command.last}\n#{out}\n#{err}"
  end
end
