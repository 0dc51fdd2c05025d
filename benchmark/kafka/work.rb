# frozen_string_literal: true

# What a consumer does with each message in the rows about concurrency.
class Work
  # @param mode [String] cpu: some tens of microseconds of Ruby; else 1 ms of waiting, as for a database's answer
  def initialize(mode)
    @cpu = mode == "cpu"
  end

  # @param payload [String]
  def call(payload)
    @cpu ? compute(payload) : sleep(0.001)
  end

  private

  def compute(payload)
    sum = 0
    position = 0
    while position < 300
      sum = ((sum * 31) + payload.getbyte(position)) % 1_000_003
      position += 1
    end
    sum
  end
end
