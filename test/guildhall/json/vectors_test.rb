# frozen_string_literal: true

require "guildhall/json"
require_relative "../../support/webhooks"
require_relative "../../support/json_values"

# The reader has a path for each kind of processor. GUILDHALL_SIMD picks a lesser one than this machine's, so that all
# of them are tested wherever the tests run.
class JSONVectorsTest < GuildhallTest
  SUPPORT = File.expand_path("../../support", __dir__)
  SCRIPT = <<~'RUBY'
    require "guildhall/json"
    require "digest"
    require "%<support>s/webhooks"
    require "%<support>s/json_values"
    values = JSONValues.new(seed: 4711)
    texts = Webhooks.texts.first(60) + Array.new(300) { Guildhall::JSON.encode(values.any) }
    (0..70).each do |length|
      ["x", "é", "日", "😀"].each { |letter| texts << %%(["#{"a" * length}#{letter}#{"b" * (70 - length)}"]) }
      texts << "[#{"1" * length}" << "[#{"7" * length}]" << "[0.#{"3" * length}]" << "[-#{"8" * length}.5e3,#{" " * length}true]"
      texts << "[\"#{"a" * length}\\n\\u00e9#{"b" * length}\"]" << "[\"#{"a" * length}\u0001\"]" << "[\"#{"é" * length}\xC3\"]"
    end
    results = texts.map do |text|
      Guildhall::JSON.decode(text).inspect
    rescue Guildhall::JSON::ParseError => error
      [error.message, error.offset].inspect
    end
    puts results.size, results.grep(/ParseError|JSON:/).size, Digest::SHA256.hexdigest(results.join("\n"))
  RUBY

  def test_every_path_reads_the_same
    script = format(SCRIPT, support: SUPPORT)
    results = %w[none base best].to_h { |level| [level, assert_ruby(script, env: {"GUILDHALL_SIMD" => level})] }
    assert_equal 1, results.values.uniq.size, results.inspect
    texts, errors, = results["best"].lines.map(&:to_i)
    assert_operator errors, :>, 100
    assert_operator texts - errors, :>, 600
  end
end
