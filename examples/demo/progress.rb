# frozen_string_literal: true

require "ruby-progressbar"

module Demo
  # A bar on standard error; where that is no terminal, a line at the end of each step.
  class Progress
    FORMAT = "  %t |%B| %c/%C  %a"

    # @param title [String]
    # @param total [Integer]
    def initialize(title, total)
      @title = title
      @total = total
      @began = Demo.now
      @bar = ProgressBar.create(title: title.ljust(22), total:, format: FORMAT, output: $stderr, throttle_rate: 0.1) if $stderr.tty?
      @count = 0
    end

    # @param count [Integer] how much is done, in all
    def at(count)
      @count = [count, @total].min
      @bar.progress = @count if @bar && @count > @bar.progress
    end

    def done
      return @bar.stop if @bar

      $stderr.puts(format("  %-22s %d/%d in %.1f s", @title, @count, @total, Demo.now - @began))
    end
  end
end
