# frozen_string_literal: true

require_relative "contender"

# Several contenders on one topic, in turn, round by round; a ratio is the median of the rounds' own ratios.
class Race
  # @param contenders [Hash{Symbol=>Contender}]
  # @param servers [String]
  # @param topic [String]
  # @param count [Integer] messages that each has to read
  # @param same [Boolean] whether all of them have to come to the same sum
  def initialize(contenders, servers, topic, count, same: true)
    @contenders = contenders
    @arguments = [servers, topic, count]
    @same = same
  end

  # @param rounds [Integer] every other one goes backwards, so that none always comes first
  # @return [self]
  def run(rounds)
    @results = Array.new(rounds) do |round|
      order = round.even? ? @contenders.to_a : @contenders.to_a.reverse
      order.to_h { |name, contender| [name, contender.run(*@arguments)] }
    end
    check if @same
    self
  end

  # @param better [Symbol] a contender
  # @param worse [Symbol]
  # @param figure [String] of their results
  # @return [Float] how many times the figure of the second that of the first is
  def ratio(better, worse, figure = "rate")
    Bench.median(@results.map { |round| round[better][figure].to_f / round[worse][figure] })
  end

  # @return [Float] the median of the rounds
  def figure(name, figure = "rate")
    Bench.median(@results.map { |round| round[name][figure] })
  end

  # @return [Array] what it has had in each round
  def all(name, figure) = @results.map { |round| round[name][figure] }

  # @return [String] for people
  def to_s
    @contenders.keys.map { |name| "#{name} #{figure(name).round}/s" }.join(", ")
  end

  private

  def check
    sums = @results.flat_map(&:values).map { |result| result["sum"] }.uniq
    abort("#{@arguments[1]}: not the same was read: #{@results}") unless sums.size == 1
  end
end
