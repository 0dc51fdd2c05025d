# frozen_string_literal: true

require "io/console"
require "guildhall/clock"
require "guildhall/text_table"

module Guildhall
  module Kafka
    module CLI
      # Lines on a terminal that are drawn anew in the same place. They are cut to its size, which may change.
      class LiveTable
        HIDE = "\e[?25l" # the cursor
        SHOW = "\e[?25h"
        CUT = "\e[?7l" # at the edge: characters may be wider than one column, and a line that went on below would be drawn over
        WRAP = "\e[?7h"
        CLEAR = "\e[2J\e[H" # all of the terminal
        BELOW = "\e[J"
        SLICE_SECONDS = 0.25 # between two looks at the terminal's size
        private_constant :HIDE, :SHOW, :CUT, :WRAP, :CLEAR, :BELOW, :SLICE_SECONDS

        # @param rows [Array<Array>] the first has the headings
        # @param width [Integer, nil] nil: any
        # @param dispensable [Array<String>] headings of the columns that a narrow terminal goes without, in this order
        # @return [Array<String>] lines; where that does not do, the widest cells lose their middle
        def self.narrow(rows, width, dispensable)
          lines = TextTable.lines(rows)
          dispensable.each do |heading|
            break if width.nil? || lines.map(&:size).max <= width

            index = rows.first.index(heading) or next
            rows = rows.map { |row| row.reject.with_index { |_, at| at == index } }
            lines = TextTable.lines(rows)
          end
          width && lines.map(&:size).max > width ? TextTable.lines(rows, width:) : lines
        end

        # @yieldparam table [LiveTable] when the block ends, however it does, the terminal is as it was, with the last lines on it
        def self.open(out)
          out.write(HIDE)
          yield new(out)
        ensure
          out.write("\r\e[K#{SHOW}") # Ctrl-C was printed there
          out.flush
        end

        def initialize(out)
          @out = out
          @drawn = 0
        end

        # @return [Array(Integer, Integer)] rows and columns
        def size
          rows, columns = @out.winsize
          [rows, columns].all?(&:positive?) ? [rows, columns] : [24, 80]
        end

        # Draws again and again: after each look, and where the terminal's size has changed. Never returns.
        # @param screen [#call] returns the lines
        # @param interval [Numeric] seconds between two looks
        # @yield to look
        def keep(screen, interval)
          loop do
            draw(screen.call)
            next_at = Clock.now + interval
            while Clock.now < next_at
              sleep([SLICE_SECONDS, Clock.left(next_at)].min)
              draw(screen.call) if resized?
            end
            yield
          end
        end

        # @return [Boolean] whether the terminal has another size than when it was drawn on
        def resized? = size != @size

        # @param lines [Array<String>] what does not fit below is left out, and the last line says how much
        def draw(lines)
          moved = @size.nil? || @size == size ? ("\e[#{@drawn}A\r" if @drawn.positive?) : CLEAR
          @size = size
          fitting = fit(lines)
          @drawn = fitting.size
          @out.write("#{CUT}#{moved}#{BELOW}#{fitting.map { |line| "#{line}\n" }.join}#{WRAP}")
          @out.flush
        end

        private

        def fit(lines)
          height = [@size.first - 1, 1].max # the cursor stands below
          shown = lines.size > height ? [*lines.first(height - 1), "… #{lines.size - height + 1} more"] : lines
          shown.map { |line| line.size > @size.last ? "#{line[0, @size.last - 1]}…" : line }
        end
      end
    end
  end
end
