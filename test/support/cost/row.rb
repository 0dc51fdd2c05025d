# frozen_string_literal: true

module Cost
  # One thing that is done to a payload, at several sizes of it. Others add rows as data: see {Cost.rows}.
  #
  # codec, document, operation: what a failure names. payload: of a number of units, a String (or what `bytes` can measure).
  # subject: what is made of the payload before anything is counted; nil: this operation does not apply. work: what is counted.
  # bytes: of the payload, where it says more than it has (such as a count of items that take no byte).
  Row = Data.define(:codec, :document, :operation, :payload, :subject, :work, :bytes, :units) do
    def initialize(codec:, document:, operation:, payload:, work:, subject: :itself.to_proc, bytes: ->(payload, _) { payload.bytesize }, units: 120)
      super
    end

    # @return [String]
    def name = "#{codec}: #{document}: #{operation}"

    # @param units [Integer] of the smallest payload
    # @return [Array<Sample>, nil] at units, 2 × units, 4 × units, 8 × units
    def samples(units = self.units)
      work.call(subject.call(payload.call(8)) || return) # what is remembered and loaded the first time
      [1, 2, 4, 8].map do |factor|
        made = payload.call(units * factor)
        given = subject.call(made)
        GC.start(full_mark: false) # what is left to sweep would count
        GC.disable
        Sample.new(bytes.call(made, units * factor), *WorkCount.measure { work.call(given) })
      ensure
        GC.enable
      end
    end
  end

  # What was counted.
  Sample = Data.define(:bytes, :steps, :allocated)

  # What a row may cost.
  module Rule
    GROWTH = 2.6 # of what is added, for a doubling of what is added: 2 is linear, 4 quadratic; n × log(n) is about 2.2
    SLACK = 3_000 # steps
    STEPS_A_BYTE = 1_500
    ALLOCATED_A_BYTE = 1_000 # bytes
    CONSTANT = 500_000 # steps or bytes that do not depend on the payload

    # @param samples [Array<Sample>]
    # @return [String, nil] what is wrong
    def self.fault(samples)
      *, two, four, eight = samples
      added = [four.steps - two.steps, 0].max
      return "grows faster than the payload" if eight.steps - four.steps > (GROWTH * added) + SLACK
      return "takes more than #{STEPS_A_BYTE} steps a byte" if eight.steps > (STEPS_A_BYTE * eight.bytes) + CONSTANT

      "takes more than #{ALLOCATED_A_BYTE} bytes of memory a byte" if eight.allocated > (ALLOCATED_A_BYTE * eight.bytes) + CONSTANT
    end

    # @return [String] sizes and counts
    def self.table(samples)
      samples.map { |sample| "#{sample.bytes} bytes: #{sample.steps} steps, #{sample.allocated} bytes of memory" }.join("; ")
    end
  end
end
