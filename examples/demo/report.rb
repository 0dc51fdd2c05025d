# frozen_string_literal: true

require "etc"

module Demo
  # The table at the end: speed, what was left out, what failed and where, and whether every message is accounted for.
  class Report
    BAR_WIDTH = 40 # characters
    private_constant :BAR_WIDTH

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

    # @return [String] what a manager wants to know, a chart, and the whole account
    def to_s
      [machine, "", *headline, "", speed, "", outcome, "", failures, "", shares, memory, "", *verdict].compact.join("\n")
    end

    # @return [Hash{Symbol=>Object}] the same for programs
    def to_h
      {ruby: RUBY_VERSION, yjit: yjit?, cores: Etc.nprocessors, sent: @account[:sent],
       ratio: complete? && (@ours.rate / @by_hand.rate).round(2), guildhall: figures(@ours), by_hand: figures(@by_hand),
       by_worker: @workers, accounted: accounted?, committed: committed?, agrees: agrees?}
    end

    private

    def machine
      "Ruby #{RUBY_VERSION}, YJIT #{yjit? ? "on" : "off"}, #{Etc.nprocessors} cores"
    end

    def yjit?
      !defined?(RubyVM::YJIT).nil? && RubyVM::YJIT.enabled?
    end

    def headline
      return ["Stopped before both consumers had handled everything: no comparison."] unless complete?

      [format("Faster:  %.1f times as many messages a second as with the plain client and JSON.parse.", @ours.rate / @by_hand.rate),
       "Lost:    #{lost}", "Cores:   #{cores}"]
    end

    def lost
      return "see the account below." unless accounted? && committed?

      "nothing. All #{@account[:sent]} messages are accounted for, every offset is committed."
    end

    def cores
      busy = @workers.except("callers").count { |_, count| count.positive? }
      return "the work was too small to be spread." if busy.zero?

      "#{busy} worker Ractors decoded side by side; the consumer written by hand has one core."
    end

    # Messages a second as bars, and the time that each consumer took from its first message to its last.
    def speed
      consumers = {"Guildhall" => @ours, "by hand" => @by_hand}.reject { |_, tally| tally.nil? || tally.handled.zero? }
      most = consumers.each_value.map(&:rate).max
      consumers.map do |name, tally|
        bar = "█" * (tally.rate / most * BAR_WIDTH).round.clamp(1..)
        format("%-9s %-#{BAR_WIDTH}s %6d messages/s, %.0f MB/s, %.2f s", name, bar, tally.rate, tally.megabytes_a_second, tally.seconds)
      end.join("\n")
    end

    def complete?
      [@ours, @by_hand].all? { |tally| handled_all?(tally) }
    end

    def handled_all?(tally)
      tally && tally.handled == @account[:sent]
    end

    def figures(tally)
      return if tally.nil?

      {messages_per_second: tally.rate.round, megabytes_per_second: tally.megabytes_a_second.round(1), seconds: tally.seconds.round(3),
       processed: tally.processed, filtered: tally.filtered, failed: tally.failed, tombstones: tally.tombstones}
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

      done = @workers.map { |worker, count| format("%s %d (%.0f %%)", worker, count, 100.0 * count / total) }
      "decoded, checked and filtered by: #{done.join(", ")}; callers are the threads that run consumers, where no worker was free"
    end

    def memory
      return if @memory.empty?

      first, last = @memory.values.map { |kilobytes| kilobytes / 1024 }
      after = ", #{last} MB at the end, with the consumer written by hand" if last
      "peak memory of this process: #{first} MB after Guildhall's part#{after}"
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
      return unless complete?

      "#{mark(counts_agree?)} both consumers counted the same: #{@ours.counts.size} pairs of repository and event"
    end

    def accounted?
      (@ours ? @ours.handled : 0) + @account[:before] == @account[:sent]
    end

    def committed?
      @account[:committed].nil? || @account[:committed] == @account[:ends]
    end

    def counts_agree?
      return true unless complete?

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
