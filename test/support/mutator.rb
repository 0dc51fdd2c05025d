# frozen_string_literal: true

# Damaged copies of payloads: bytes flipped, cut out, doubled, spliced with another's; some left whole.
class Mutator
  # @param seed [Integer] the same seed makes the same sequence
  # @param payloads [Array<String>]
  def initialize(seed, payloads)
    @random = Random.new(seed)
    @payloads = payloads
  end

  # @return [String] binary, frozen
  def next
    bytes = pick.b
    @random.rand(4).times { mutate(bytes) }
    bytes.freeze
  end

  private

  def pick = @payloads[@random.rand(@payloads.size)]

  def mutate(bytes)
    at = @random.rand(bytes.bytesize + 1)
    case @random.rand(6)
    when 0 then bytes.setbyte(at, @random.rand(256)) if at < bytes.bytesize
    when 1 then bytes.setbyte(at, bytes.getbyte(at) ^ (1 << @random.rand(8))) if at < bytes.bytesize
    when 2 then bytes.slice!(at, 1 + @random.rand(8))
    when 3 then bytes.insert(at, bytes.byteslice(at, 1 + @random.rand(16)))
    when 4 then bytes.slice!(at..)
    else bytes.replace(bytes.byteslice(0, at) + pick.b.byteslice(at..).to_s)
    end
  end
end

# Values that a JSON-like format can carry, and some more.
module Generated
  NUMBERS = [0, 1, -1, 127, 128, 255, 256, 65_535, 65_536, -32, -33, -128, -129, -32_768, -32_769, 2**31, 2**32, -2**31, -2**31 - 1,
             2**59, -2**59 - 1, 2**62, (2**63) - 1, 2**63, (2**64) - 1, -2**63].freeze
  FLOATS = [0.0, -0.0, 1.5, -1.0e300, 5.0e-324, Float::INFINITY, -Float::INFINITY, Float::NAN, 0.1].freeze

  # @return [Object]
  def self.value(random, depth = 4)
    case random.rand(depth.positive? ? 10 : 7)
    when 0 then [nil, true, false][random.rand(3)]
    when 1 then NUMBERS[random.rand(NUMBERS.size)]
    when 2 then random.rand(2**64) - (2**63)
    when 3 then FLOATS[random.rand(FLOATS.size)]
    when 4, 5 then text(random)
    when 6 then random.bytes(random.rand(40))
    when 7, 8 then hash(random, depth)
    else Array.new(random.rand(20)) { value(random, depth - 1) }
    end
  end

  def self.text(random)
    ["", "a", "kilo", "größer", "日本語" * 5, "x" * 31, "y" * 32, "z" * 300][random.rand(8)]
  end

  def self.hash(random, depth)
    Array.new(random.rand(20)) do |number|
      [random.rand(8).zero? ? NUMBERS[random.rand(10)] : "key#{random.rand(5)}_#{number}", value(random, depth - 1)]
    end.to_h
  end
end
