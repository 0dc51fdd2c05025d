# frozen_string_literal: true

# What calls its `write` again and again in a thread of its own, until it is told to end.
module WritingThread
  def start
    @thread = Thread.new { write until @ended }
    self
  end

  # Blocks until the turn at hand is over.
  # @raise what `write` has raised
  def finish
    @ended = true
    @thread.join
  end
end
