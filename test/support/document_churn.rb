# frozen_string_literal: true

require "guildhall/json"
require "guildhall/msgpack"

# Makes Documents of all sizes and keeps a few, which are read when the blocks of others have been used again.
module DocumentChurn
  SIZES = [1, 3, 30, 31, 200, 2_000, 40_000].freeze

  # @return [Boolean] whether all that was kept still says what it said
  def self.unharmed?(rounds, seed)
    random = Random.new(seed)
    kept = Array.new(8)
    rounds.times.all? do |round|
      value = Array.new(SIZES[random.rand(SIZES.size)]) { |index| [seed, round, index] }
      kept[random.rand(kept.size)] = [round.odd? ? json(value) : msgpack(value), value.first, value.last, value.size]
      GC.start(full_mark: false) if round % 16 == 15
      kept.compact.all? { |one, first, last, size| [one[0].to_a, one[-1].to_a, one.size] == [first, last, size] }
    end
  end

  def self.json(value) = Guildhall::JSON.document(Guildhall::JSON.encode(value))
  def self.msgpack(value) = Guildhall::MessagePack.document(Guildhall::MessagePack.encode(value))
end
