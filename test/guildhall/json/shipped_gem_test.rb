# frozen_string_literal: true

require "test_helper"
require "support/fuzz_program"

# Beside the json gem that this Ruby ships (2.9 with 3.4, 2.18 with 4.0), in a process without Bundler, which would bring
# the newest: the same values of all that both accept, and nothing that only one of them accepts but what docs/json.md has.
class JSONShippedGemTest < GuildhallTest
  SEED = Integer(ENV.fetch("SEED", 4_711))
  ROUNDS = Integer(ENV.fetch("ROUNDS", 20_000))
  WITHOUT_BUNDLER = {"RUBYOPT" => nil, "BUNDLER_SETUP" => nil, "BUNDLE_GEMFILE" => nil}.freeze
  SCRIPT = <<~'RUBY'
    gem "json", Gem::Specification.select { |spec| spec.name == "json" && spec.default_gem? }.map(&:version).max.to_s
    require "json"
    require "guildhall/json"
    %<support>p.each { |file| require file }
    abort("json #{JSON::VERSION} is not the one that this Ruby ships") unless JSON::VERSION.start_with?("2.")
    $VERBOSE = nil # duplicate keys are deprecated there
    STRICT = Guildhall::JSON
    LAST = Guildhall::JSON.new(allow_duplicate_key: true, allow_invalid_utf8: true)
    texts = Webhooks.texts.select { |text| text.bytesize < 4_000 } + Array.new(300) { |n| JSON.generate(JSONValues.new(seed: n).any) }
    texts.each do |text|
      [[{}, STRICT], [{symbolize_names: true}, STRICT.new(symbolize_names: true)]].each do |options, codec|
        abort("differs: #{text[0, 200]}") unless JSON.parse(text, **options).eql?(codec.decode(text))
      end
    end
    attempt = ->(&block) { block.call rescue $!.is_a?(JSON::ParserError) || $!.is_a?(Guildhall::DecodeError) ? $! : raise }
    mutator = Mutator.new(%<seed>d, texts.map { |text| text.sub("{", "{/**/") } + texts + ['["\ud83d\ude00\u0041"]', "[1.5e300,-0.0,1e-7]", '{"a":1,"a":2}'])
    # Our reason, and what of the text explains that the older gem took it.
    LISTED = {/unexpected character|expected/ => %%r{//|/\*}, /surrogate|escape/ => /\\/, /duplicate/ => /"/, /UTF-8/ => /[\x80-\xff]/n, /control/ => /\\[^\\]/n}
    seen = Hash.new(0)
    %<rounds>d.times do
      text = mutator.next.dup.force_encoding("UTF-8").freeze
      theirs = attempt.call { JSON.parse(text) }
      ours = attempt.call { LAST.decode(text) }
      refused = [theirs, ours].map { |result| result.is_a?(StandardError) }
      case refused
      when [true, true] then next seen[:refused] += 1
      when [false, false] then next seen[:value] += 1 if theirs.eql?(ours)
      when [false, true] then next seen[:listed] += 1 if LISTED.any? { |reason, cause| reason.match?(ours.message) && cause.match?(text.b) }
      when [true, false] then next seen[:nesting] += 1 if theirs.is_a?(JSON::NestingError)
      end
      # Zero with a huge exponent, and what lies between a lone surrogate and what follows.
      next seen[:listed] += 1 if text.b.match?(/(?<![\d.])-?0(\.0+)?[eE]\+?\d{9,}|\\u[dD][89a-fA-F]/n)
      abort("SEED %<seed>d json #{JSON::VERSION}: #{text.inspect}\nours: #{ours.inspect[0, 300]}\ntheirs: #{theirs.inspect[0, 300]}")
    end
    puts JSON::VERSION, seen[:value], seen[:refused]
  RUBY

  def test_same_values
    support = %w[webhooks json_values mutator].map { |name| File.expand_path("../../support/#{name}.rb", __dir__) }
    out = assert_ruby(format(SCRIPT, support:, seed: SEED, rounds: ROUNDS), timeout: 300, env: WITHOUT_BUNDLER)
    version, values, refused = out.split
    assert_match(/\A2\./, version)
    assert_operator values.to_i, :>, ROUNDS / 20, out
    assert_operator refused.to_i, :>, ROUNDS / 10, out
  end

  # How older versions differ from 3.1, one line each: what docs/json.md says, and the rest.
  TABLE = <<~'RUBY'
    gem "json", Gem::Specification.select { |spec| spec.name == "json" && spec.default_gem? }.map(&:version).max.to_s
    require "json"
    require "guildhall/json"
    $VERBOSE = nil
    {"comment" => "/* x */[1]", "duplicate" => '{"a":1,"a":2}', "low" => '["\udc00"]', "pair" => '["\ud800\u0041"]', "escape" => '["\x"]',
     "deep" => "[" * 101 + "]" * 101}.each do |name, text|
      results = [JSON, Guildhall::JSON].map do |codec|
        codec.public_send(codec == JSON ? :parse : :decode, text).then { "accepts" }
      rescue JSON::ParserError
        "refuses"
      end
      puts [name, *results].join(" ")
    end
  RUBY
  OLDER = {"3.4" => %w[accepts accepts accepts accepts accepts refuses], "4.0" => %w[accepts accepts accepts refuses refuses accepts]}.freeze
  OURS = %w[refuses refuses refuses refuses refuses accepts].freeze

  def test_the_documented_differences
    theirs = OLDER[RUBY_VERSION[/\A\d+\.\d+/]] or skip("which json Ruby #{RUBY_VERSION} ships is not in the table")
    names = %w[comment duplicate low pair escape deep]
    out = assert_ruby(TABLE, env: WITHOUT_BUNDLER)
    assert_equal names.zip(theirs, OURS).map { |line| line.join(" ") }, out.lines(chomp: true)
  end
end
