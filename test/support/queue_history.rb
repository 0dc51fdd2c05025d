# frozen_string_literal: true

# Judges what Ractors recorded of a queue: pushes and pops as [item, began, ended] with distinct items and one clock.
# A complete history of a queue is linearizable when nothing was popped that was not pushed, nothing twice, no pop ended
# before its push began, and no item overtook another: where the push of a ended before the push of b began, the pop of b
# must not have ended before the pop of a began.
class QueueHistory
  # @param pushes [Array<Array(Integer, Integer, Integer)>]
  # @param pops [Array<Array(Integer, Integer, Integer)>]
  def initialize(pushes, pops)
    @pushes = pushes
    @pops = pops
  end

  # @return [String, nil] nil: linearizable
  def error
    return "#{@pops.size} pops of #{@pushes.size} items" unless @pops.size == @pushes.size

    popped = @pops.to_h { |item, began, ended| [item, [began, ended]] }
    return "an item came twice" unless popped.size == @pops.size

    missing(popped) || too_early(popped) || overtaken(popped)
  end

  private

  def missing(popped)
    item, = @pushes.find { |item, _| !popped.key?(item) }
    "#{item} was lost" if item
  end

  def too_early(popped)
    item, = @pushes.find { |item, began, _| popped[item].last < began }
    "#{item} was popped before it was pushed" if item
  end

  # In the order in which pushes began, beside those that had ended by then: the latest beginning of their pops.
  def overtaken(popped)
    ended = @pushes.sort_by(&:last)
    latest = -1
    index = 0
    @pushes.sort_by { |_, began, _| began }.each do |item, began, _|
      while ended[index].last < began
        latest = [latest, popped[ended[index].first].first].max
        index += 1
      end
      return "#{item} overtook another" if popped[item].last < latest
    end
    nil
  end
end
