# frozen_string_literal: true

# Values to make JSON of, the same ones for the same seed.
class JSONValues
  TEXTS = ["", "a", "plain text", "größe", "東京都", "😀", "a\"b\\c/d", "line\nbreak\ttab\u0001", "x" * 15, "y" * 16, "z" * 17,
           "é" * 40, "\u2028", "w" * 300, "{\"not\": [\"json\"]}", "\u007f", "0"].freeze

  def initialize(seed:)
    @random = Random.new(seed)
  end

  # @return [Hash, Array, String, Numeric, true, false, nil]
  def any(depth = 0)
    case @random.rand(depth > 4 ? 6 : 9)
    when 0 then [nil, true, false].sample(random: @random)
    when 1 then integer
    when 2 then float
    when 3, 4, 5 then text
    when 6, 7 then Array.new(size) { any(depth + 1) }
    else Array.new(size) { [text, any(depth + 1)] }.to_h
    end
  end

  private

  def size = [0, 1, 2, 3, 5, 9, 20].sample(random: @random)
  def integer = @random.rand(10**@random.rand(1..25)) * [1, -1].sample(random: @random)

  def float
    [@random.rand, @random.rand * 10**@random.rand(-20..20), -@random.rand(1000) / 8.0, 0.0, -0.0, 1e300, 5e-324].sample(random: @random)
  end

  def text
    TEXTS.sample(random: @random) + [nil, "k#{@random.rand(50)}"].sample(random: @random).to_s
  end
end
