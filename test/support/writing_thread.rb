# frozen_string_literal: true

# Calls the `write` of who includes it again and again, in a thread, from `start` to `finish`.
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
