# frozen_string_literal: true

require "ruby-progressbar"

module Demo
  # A bar on standard error; where that is not a terminal, a line every few seconds and at the end of each step.
  class Progress
    SHOWN_EVERY_SECONDS = 5
    FORMAT = "  %t |%B| %c/%C  %a"

    # @param title [String]
    # @param total [Integer]
    def initialize(title, total)
      @title = title
      @total = total
      @began = @shown = Demo.now
      @bar = ProgressBar.create(title: title.ljust(22), total:, format: FORMAT, output: $stderr, throttle_rate: 0.1) if $stderr.tty?
      @count = 0
    end

    # @param count [Integer] how much is done, in all
    def at(count)
      @count = [count, @total].min
      return (@bar.progress = @count if @count > @bar.progress) if @bar
      return if Demo.now - @shown < SHOWN_EVERY_SECONDS

      @shown = Demo.now
      line
    end

    def done
      return @bar.stop if @bar

      line
    end

    private

    def line
      $stderr.puts(format("  %-22s %d/%d in %.1f s", @title, @count, @total, Demo.now - @began))
    end
  end
end
