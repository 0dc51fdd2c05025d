# frozen_string_literal: true

require "test_helper"
require "json"
require "guildhall/schema"

# The public JSON-Schema-Test-Suite, where it is there: JSON_SCHEMA_TEST_SUITE names its folder (a checkout of
# json-schema-org/JSON-Schema-Test-Suite), or it lies beside this project, or Debian's package of that name is installed.
class SchemaSuiteTest < GuildhallTest
  ROOT = [ENV.fetch("JSON_SCHEMA_TEST_SUITE", nil), File.expand_path("../../../../shared/json-schema-test-suite", __dir__),
          "/usr/share/json-schema-test-suite"].compact.find { |folder| File.directory?(File.join(folder, "tests")) }
  DRAFTS = {"draft4" => "4", "draft6" => "6", "draft7" => "7", "draft2019-09" => "2019-09", "draft2020-12" => "2020-12"}.freeze
  OTHER_DRAFTS = %r{\A(draft3|v1)/}

  # Optional parts that are left out, and why.
  OMITTED = {
    %r{/draft[46]/optional/format/hostname\.json.*consecutive hyphens} => "host names are those of draft-07 in all drafts",
    %r{/optional/content\.json} => "content… keywords describe and are not checked",
    %r{/optional/zeroTerminatedFloats\.json} => "1.0 is an integer in all drafts, as it is since draft-06",
    %r{/optional/format/hostname\.json.*A-label} => "Punycode is not decoded: IDNA's tables of Unicode are not kept",
    %r{/optional/format/idn-hostname\.json.*(U\+302E|Punycode|Begins\ with\ an?\ |DISALLOWED|MIDDLE\ DOT|KERAIA|GERE?SH|Arabic-Indic|
      ZERO\ WIDTH|zero\ width|Bidi|right-to-left|A-label|U-label)}x => "which letters may stand together: the same tables",
    %r{/optional/format/ecmascript-regex\.json.*variable width} => "Ruby has no look-behind of variable length"
  }.freeze

  DRAFTS.each_key do |draft|
    class_eval(<<~RUBY, __FILE__, __LINE__ + 1)
      def test_#{draft.tr("-", "_")} = run_draft("#{draft}") # def test_draft7 = run_draft("draft7")
    RUBY
  end

  private

  def run_draft(draft)
    skip("no JSON-Schema-Test-Suite here: JSON_SCHEMA_TEST_SUITE=/its/folder") if ROOT.nil?
    files = Dir[File.join(ROOT, "tests", draft, "**/*.json")]
    skip("#{ROOT} has no tests of #{draft}") if files.empty?
    wrong = files.sort.flat_map { |file| check_file(file, DRAFTS.fetch(draft)) }
    assert wrong.empty?, wrong.join("\n")
  end

  def check_file(file, draft)
    formats = draft.size == 1 || file.include?("/optional/format") # annotations by default, say 2019-09 and 2020-12
    JSON.parse(File.read(file, encoding: "UTF-8")).flat_map do |group|
      title = "#{file.delete_prefix(ROOT)}: #{group["description"]}"
      check_group(group, title, Guildhall::Schema.new(group["schema"], draft:, formats:, registry:).validator)
    rescue Guildhall::SchemaError => error
      OMITTED.any? { |pattern, _| pattern.match?(title) } ? [] : ["#{title}: #{error.message}"]
    end
  end

  def check_group(group, title, validator)
    group["tests"].flat_map do |test|
      forms(test["data"]).filter_map do |value|
        next if OMITTED.any? { |pattern, _| pattern.match?("#{title} / #{test["description"]}") }
        next if validator.valid?(value) == test["valid"] && validator.errors(value).empty? == test["valid"]

        "#{title} / #{test["description"]}: #{value.class}"
      end
    end
  end

  def forms(value)
    value.is_a?(Hash) || value.is_a?(Array) ? [value, Guildhall::JSON.document(JSON.generate(value))] : [value]
  end

  def registry
    @registry ||= Dir[File.join(ROOT, "remotes/**/*.json")].filter_map do |file|
      path = file.delete_prefix("#{ROOT}/remotes/")
      ["http://localhost:1234/#{path}", JSON.parse(File.read(file, encoding: "UTF-8"))] unless path.match?(OTHER_DRAFTS)
    end.to_h
  end
end
