# frozen_string_literal: true

require "test_helper"
require "json"
require "guildhall/json"

# The public JSONPath Compliance Test Suite, where it is there: JSONPATH_TEST_SUITE names its folder (a checkout of
# jsonpath-standard/jsonpath-compliance-test-suite).
class JSONPathSuiteTest < GuildhallTest
  FOLDER = ENV.fetch("JSONPATH_TEST_SUITE", "")

  def test_every_path
    file = File.join(FOLDER, "cts.json")
    skip("no JSONPath Compliance Test Suite here: JSONPATH_TEST_SUITE=/its/folder") unless File.exist?(file)
    wrong = JSON.parse(File.read(file, encoding: "UTF-8")).fetch("tests").reject { |test| right?(test) }.map { |test| "#{test["name"]}: #{test["selector"]}" }
    assert wrong.empty?, wrong.join("\n")
  end

  private

  def right?(test)
    path = Guildhall::JSON::Path.new(test["selector"])
    return false if test["invalid_selector"]

    expected = test["results"] || [test["result"]]
    [test["document"], Guildhall::JSON.document(JSON.generate(test["document"]))].all? { |root| expected.include?(plain(path.of(root))) }
  rescue Guildhall::ArgumentError
    test["invalid_selector"]
  end

  def plain(values) = values.map { |value| value.is_a?(Guildhall::JSON::Document) ? value.decode : value }
end
