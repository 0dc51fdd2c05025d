# frozen_string_literal: true

require "support/ecma_patterns"
require "guildhall/schema"

# Each random expression matches what node says it matches, or is refused; what node refuses with the flag u and without is refused.
module EcmaDifferential
  PATTERN = Guildhall::Schema.const_get(:Pattern)
  AT_ONCE = 500

  # @param count [Integer] expressions
  # @param random [Random]
  # @return [Hash{Symbol=>Integer}] how many were compared, and refused
  # @yieldparam difference [String]
  def self.run(count, random, &)
    generator = EcmaPatterns.new(random)
    tally = Hash.new(0)
    (count / AT_ONCE).times do
      sources = Array.new(AT_ONCE) { generator.pattern }
      sources.zip(EcmaPatterns.verdicts(sources)) { |source, (kind, verdicts)| tally[compare(source, kind, verdicts, &)] += 1 }
    end
    tally
  end

  def self.compare(source, kind, verdicts)
    regexp = PATTERN.compile(source, timeout: 10)
    return :mixed if kind != "u" && source.match?(/\\[pPk]|\\u\{|\\u[dD]|[^\u0000-\uffff]/) # these have another meaning without the flag

    yield "#{source.inspect} is not valid, and is accepted" if kind == "invalid"
    EcmaPatterns::TEXTS.zip(verdicts.chars) do |text, verdict|
      # Without the flag these are two characters; and node 20 does not find them behind a reference to an unset group (/\1😀|(a)/u).
      next if text.match?(/[^\u0000-\uffff]/) && (kind == "lax" || source.match?(/\\[1-9k]/))

      next if regexp.match?(text) == (verdict == "1")

      yield "#{source.inspect} on #{text.inspect}: #{verdict == "1" ? "should match" : "should not match"} (#{kind}; #{regexp.inspect})"
    end
    :"compared_#{kind}"
  rescue PATTERN::Error => error
    kind == "u" ? refused(error) : :"refused_#{kind}"
  end

  # Valid, and not to be expressed in Ruby.
  def self.refused(error) = error.message.match?(/Ruby (?:cannot express|has no)|half of a surrogate/) ? :refused_by_ruby : raise(error)
end
