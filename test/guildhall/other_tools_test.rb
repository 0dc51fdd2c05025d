# frozen_string_literal: true

require "test_helper"
require "open3"
require "guildhall/csv"
require "guildhall/json"
require "guildhall/yaml"

# Python and Node read what is written here, and what they write is read here. Without them, nothing is compared.
class OtherToolsTest < GuildhallTest
  TEXTS = ["", "a", "é", "\u{1F600}", "a,b", "a;b", "\"a\" b", "a'b", " a ", "a\nb", "a\r\nb", "\ta", "\\", "\u2028", "\u0085", "\uFEFFa", "\u0001", "\x7f", "y", "No", "on", "null", "~",
           "2016-09-31", "2026-03-01", "2026-03-01 10:00:00", "1:30", "190:20:30", "0o17", "017", "0x1F", "0b1", "1_000", "1e3", ".5", "+1", ".inf", ".nan", "=", "<<", "- a", "a: b",
           "a #b", "*a", "&a", "!a", "%a", "@a", "`a", "{a", "[a", "# a", "a\n\nb\n", "a\n b\n", " a\nb", "a\n\n", "...", "---"].freeze
  VALUE = {"texts" => TEXTS, "numbers" => [0, -1, 2**53, 1.5, 1e20, 1e-5, -0.5], "words" => [nil, true, false], "nested" => [[], {}, [[1]], {"a" => {"b" => []}}],
           "keys" => TEXTS.to_h { |text| [text, 1] }}.freeze

  def python(program, input) = output("python3", "-c", "import sys,json,csv,io\nsys.stdin.reconfigure(newline='')\nsys.stdout.reconfigure(newline='')\n#{program}", input)

  def output(*command, input)
    made, error, status = Open3.capture3({"PYTHONIOENCODING" => "utf-8"}, *command, stdin_data: input)
    assert_predicate status, :success?, error
    made.force_encoding(Encoding::UTF_8)
  end

  def tool?(name, *check) = ENV.fetch("PATH").split(":").any? { |folder| File.executable?(File.join(folder, name)) } && (check.empty? || system(name, *check, %i[out err] => File::NULL))

  def test_json
    text = Guildhall::JSON.encode(VALUE)
    programs = {"python3" => -> { python("print(json.dumps(json.loads(sys.stdin.read())), end='')", text) },
                "node" => -> { output("node", "-e", "process.stdout.write(JSON.stringify(JSON.parse(require('fs').readFileSync(0,'utf8'))))", text) }}
    programs.each { |tool, read| assert_equal VALUE, Guildhall::JSON.decode(read.call), tool if tool?(tool) }
  end

  def test_yaml
    return unless tool?("python3", "-c", "import yaml")

    text = Guildhall::YAML.encode(VALUE)
    assert_equal VALUE, Guildhall::JSON.decode(python("import yaml\nprint(json.dumps(yaml.safe_load(sys.stdin.read())), end='')", text))
    written = python("import yaml\nprint(yaml.safe_dump(json.loads(sys.stdin.read())), end='')", Guildhall::JSON.encode(VALUE.except("keys")))
    skipped = ["2016-09-31"] # written without quotes, which Psych takes for a date
    assert_equal(VALUE.except("keys")["texts"] - skipped, Guildhall::YAML.decode(written.sub(/^- 2016-09-31\n/, ""))["texts"] - skipped)
  end

  def test_csv
    return unless tool?("python3")

    rows = TEXTS.each_slice(5).map { |row| row + ([""] * (5 - row.size)) }
    {"," => {}, ";" => {col_sep: ";"}, "\t" => {col_sep: "\t"}}.each do |separator, options|
      codec = Guildhall::CSV.new(headers: false, **options)
      read = python("print(json.dumps(list(csv.reader(io.StringIO(sys.stdin.read(), newline=''), delimiter=#{separator.dump}))), end='')", codec.encode(rows))
      assert_equal rows, Guildhall::JSON.decode(read), separator.inspect
      written = python("csv.writer(sys.stdout, delimiter=#{separator.dump}).writerows(json.loads(sys.stdin.read()))", Guildhall::JSON.encode(rows))
      assert_equal rows, codec.decode(written).map { |row| row.map(&:to_s) }, separator.inspect
    end
  end
end
