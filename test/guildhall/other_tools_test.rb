# frozen_string_literal: true

require "test_helper"
require "open3"
require "guildhall/csv"
require "guildhall/json"
require "guildhall/msgpack"
require "guildhall/yaml"

# Libraries of Python, Node and Java read what is written here, and what they write is read here: each converts between the format and JSON
# (test/fixtures/convert). A test of a library that is not here is skipped, and says how to install it.
class OtherToolsTest < GuildhallTest
  FOLDER = File.expand_path("../fixtures/convert", __dir__)
  MODULES = File.expand_path("../../build/node/node_modules", __dir__)
  NPM = "npm install --prefix build/node @msgpack/msgpack@3.1.2 yaml@2.8.1 csv-parse@6.1.0 csv-stringify@6.6.0"
  JARS = %w[core databind annotations dataformat-csv].map do |name|
    Dir["#{ENV.fetch("JACKSON_JARS", "/usr/share/java")}/jackson-#{name}{,-2*}.jar"].min || "jackson-#{name}.jar"
  end.freeze
  PYTHON = "/usr/bin/python3" # Debian's, which has Debian's packages

  # By format and tool: the command that converts, what shows that it can, and how to install what it needs.
  node = ["node", File.join(FOLDER, "convert.js")]
  java = ["java", "-Dfile.encoding=UTF-8", "-cp", JARS.join(":"), File.join(FOLDER, "Convert.java")]
  python = [PYTHON, File.join(FOLDER, "convert.py")]
  jackson = [["java", "-version"], "a JDK, and JACKSON_JARS=/folder/of/jackson-{core,databind,annotations,dataformat-csv}-2.jar"]
  TOOLS = {
    %w[json python] => [python, [PYTHON, "-c", "import json"], "apt-get install python3"],
    %w[json node] => [node, %w[node --version], "apt-get install nodejs"],
    %w[json java] => [java, *jackson],
    %w[yaml python] => [python, [PYTHON, "-c", "import yaml"], "apt-get install python3-yaml"],
    %w[yaml node] => [node, ["node", "-e", "require('yaml')"], NPM],
    %w[msgpack python] => [python, [PYTHON, "-c", "import msgpack"], "apt-get install python3-msgpack"],
    %w[msgpack node] => [node, ["node", "-e", "require('@msgpack/msgpack')"], NPM],
    %w[csv python] => [python, [PYTHON, "-c", "import csv"], "apt-get install python3"],
    %w[csv node] => [node, ["node", "-e", "require('csv-parse/sync'); require('csv-stringify/sync')"], NPM],
    %w[csv java] => [java, *jackson]
  }.freeze
  CODECS = {"json" => Guildhall::JSON, "yaml" => Guildhall::YAML, "msgpack" => Guildhall::MessagePack, "csv" => Guildhall::CSV.new(headers: false)}.freeze

  TEXTS = ["", "a", "é", "\u{1F600}", "a,b", "a;b", "\"a\" b", "a'b", " a ", "a\nb", "a\r\nb", "\ta", "\\", "\u2028", "\u0085", "\uFEFFa", "\u0001", "\x7f", "y", "No", "on", "null", "~",
           "2016-09-31", "2026-03-01", "2026-03-01 10:00:00", "1:30", "190:20:30", "0o17", "017", "0x1F", "0b1", "1_000", "1e3", ".5", "+1", ".inf", ".nan", "=", "<<", "- a", "a: b",
           "a #b", "*a", "&a", "!a", "%a", "@a", "`a", "{a", "[a", "# a", "a\n\nb\n", "a\n b\n", " a\nb", "a\n\n", "...", "---"].freeze
  VALUE = {"texts" => TEXTS, "numbers" => [0, -1, 2**31, 2**53, 1.5, 1e20, 1e-5, -0.5], "words" => [nil, true, false], "nested" => [[], {}, [[1]], {"a" => {"b" => []}}],
           "keys" => TEXTS.to_h { |text| [text, 1] }}.freeze
  # PyYAML writes this text without quotes, which for Psych is a date that does not exist; yaml of npm writes as they are what libyaml takes for
  # line breaks or does not allow.
  BADLY_WRITTEN = {"python" => ["2016-09-31"], "node" => ["\u2028", "\u0085", "\x7f"]}.freeze
  ROWS = TEXTS.each_slice(5).map { |row| row + (["x"] * (5 - row.size)) }.freeze

  TOOLS.each do |(format, tool), (command, probe, packages)|
    define_method(:"test_#{format}_by_#{tool}") do
      skip("#{tool} has nothing for #{format} here: #{packages}") unless runs?(probe, tool)
      value = format == "csv" ? ROWS : VALUE
      codec = CODECS.fetch(format)
      assert_equal value, Guildhall::JSON.decode(converted(command, format, "json", codec.encode(value))), "what is written here"
      value = without(value, BADLY_WRITTEN.fetch(tool)) if format == "yaml"
      assert_equal value, read(codec.decode(converted(command, "json", format, Guildhall::JSON.encode(value)))), "what is read here"
    end
  end

  private

  def runs?(probe, tool)
    return false if tool == "java" && !JARS.all? { |path| File.exist?(path) }

    Open3.capture2e({"NODE_PATH" => MODULES}, *probe).last.success?
  rescue Errno::ENOENT
    false
  end

  def converted(command, from, to, input)
    made, error, status = Open3.capture3({"NODE_PATH" => MODULES}, *command, from, to, stdin_data: input, binmode: true)
    assert_predicate status, :success?, error
    made
  end

  def without(value, texts) = {**value, "texts" => TEXTS - texts, "keys" => value["keys"].except(*texts)}

  # Empty fields without quotes are nil.
  def read(value) = value.is_a?(Array) ? value.map { |row| row.map(&:to_s) } : value
end
