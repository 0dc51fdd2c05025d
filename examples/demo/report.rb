# frozen_string_literal: true

require "etc"

module Demo
  # The table at the end: speed, what was left out, what failed and where, and whether every message is accounted for.
  class Report
    # @param ours [Tally, nil]
    # @param by_hand [Tally, nil] nil: not reached
    # @param account [Hash] sent:, before: (handled by earlier runs of the group), committed:
    # @param workers [Hash{String=>Integer}] payloads by who did them
    # @param memory [Hash{String=>Integer}] peak memory in KB after each part
    def initialize(ours:, by_hand:, account:, workers:, memory:)
      @ours = ours
      @by_hand = by_hand
      @account = account
      @workers = workers
      @memory = memory
    end

    # @return [Boolean] whether all agrees, as far as it was run
    def agrees?
      accounted? && committed? && counts_agree?
    end

    # @return [String]
    def to_s
      [machine, "", speed, "", outcome, "", failures, "", shares, memory, "", *verdict].compact.join("\n")
    end

    private

    def machine
      yjit = defined?(RubyVM::YJIT) && RubyVM::YJIT.enabled? ? "on" : "off"
      "Ruby #{RUBY_VERSION}, YJIT #{yjit}, #{Etc.nprocessors} cores"
    end

    def speed
      rows = [["Guildhall", @ours], ["by hand", @by_hand]].map do |name, tally|
        next [name, "not run", "", ""] if tally.nil? || tally.handled.zero?

        [name, tally.rate.round.to_s, format("%.0f", tally.megabytes_a_second), format("%.2f s", tally.seconds)]
      end
      [table([["", "messages/s", "MB/s", "time"], *rows]), ratio].compact.join("\n")
    end

    def ratio
      return unless complete?(@ours) && complete?(@by_hand)

      format("Guildhall is %.1f times as fast as the consumer written by hand", @ours.rate / @by_hand.rate)
    end

    def complete?(tally)
      tally && tally.handled == @account[:sent]
    end

    def outcome
      names = ["processed", "filtered out", "failed", "tombstones"]
      values = [@ours, @by_hand].map { |tally| tally ? [tally.processed, tally.filtered, tally.failed, tally.tombstones] : [] }
      table([["", "Guildhall", "by hand"], *names.each_with_index.map { |name, row| [name, *values.map { |column| column[row].to_s }] }])
    end

    def failures
      return "no failures" if @ours.nil? || @ours.failures.empty?

      @ours.failures.sort_by { |_, (count, _)| -count }.flat_map do |kind, (count, example)|
        place = "#{example.topic} partition #{example.partition} offset #{example.offset}"
        ["#{count} × #{kind}, first at #{place}#{", byte #{example.position}" if example.position}:", "    #{example.message}"]
      end.join("\n")
    end

    def shares
      total = @workers.each_value.sum
      return "nothing was given to worker Ractors" if total.zero?

      "done by " + @workers.map { |worker, count| format("%s: %d (%.0f %%)", worker, count, 100.0 * count / total) }.join(", ")
    end

    def memory
      "peak memory: " + @memory.map { |part, kilobytes| format("%d MB %s", kilobytes / 1024, part) }.join(", ")
    end

    def verdict
      [accounting, commits, agreement].compact
    end

    def accounting
      parts = [@ours&.processed, @ours&.filtered, @ours&.failed, @ours&.tombstones].map(&:to_i)
      before = @account[:before].positive? ? " + #{@account[:before]} by earlier runs of this group" : ""
      sum = parts.sum + @account[:before]
      "#{mark(accounted?)} #{parts.join(" + ")} (processed + filtered + failed + tombstones)#{before} = #{sum} of #{@account[:sent]} sent"
    end

    def commits
      committed = @account[:committed] or return
      ends = committed? ? "the end of each partition" : "not the end of each partition"
      "#{mark(committed?)} offsets committed: #{committed.sum}, #{ends}"
    end

    def agreement
      return if @by_hand.nil? || !complete?(@ours) || !complete?(@by_hand)

      "#{mark(counts_agree?)} both consumers counted the same: #{@ours.counts.size} pairs of repository and event"
    end

    def accounted?
      (@ours ? @ours.handled : 0) + @account[:before] == @account[:sent]
    end

    def committed?
      @account[:committed].nil? || @account[:committed] == @account[:ends]
    end

    def counts_agree?
      return true unless complete?(@ours) && complete?(@by_hand)

      @ours.counts == @by_hand.counts && @ours.failed == @by_hand.failed && @ours.filtered == @by_hand.filtered
    end

    def mark(good)
      good ? "✓" : "✗"
    end

    def table(rows)
      widths = rows.transpose.map { |column| column.map(&:size).max }
      rows.map do |row|
        row.each_with_index.map { |cell, index| index.zero? ? cell.ljust(widths[0]) : cell.rjust(widths[index]) }.join("  ")
      end.join("\n")
    end
  end
end
