# frozen_string_literal: true

module Guildhall
  module LeakCheck
    # What there is more of in one snapshot than in an earlier one.
    class Growth
      # Of which there are more.
      #
      # @!attribute [r] kind
      #   @return [Symbol] :thread, :ractor, :descriptor
      # @!attribute [r] site
      #   @return [String] where they were created; of descriptors, what they lead to
      # @!attribute [r] count
      #   @return [Integer] how many more
      Leak = Data.define(:kind, :site, :count) do
        def to_s
          "#{count} #{NAMES.fetch(kind)}#{"s" if count > 1} #{kind == :descriptor ? "to" : "created at"} #{site}"
        end
      end
      NAMES = {thread: "thread", ractor: "Ractor", descriptor: "file descriptor"}.freeze
      MEGABYTE = 1_000_000.0
      private_constant :NAMES, :MEGABYTE

      # @return [Array<Leak>] the most first
      attr_reader :leaks
      # @return [Integer] bytes by which the process has grown; negative: shrunk
      attr_reader :memory

      def initialize(before, after)
        @leaks = Snapshot::KINDS.flat_map { |kind| grown(kind, before.public_send(kind), after.public_send(kind)) }
          .sort_by { |leak| -leak.count }.freeze
        @memory = after.memory - before.memory
        freeze
      end

      # @param memory [Integer, nil] bytes by which it may have grown; nil: any number
      def leak?(memory = nil)
        @leaks.any? || (!memory.nil? && @memory > memory)
      end

      # @return [Growth] with those leaks for which the block is true
      def only(&)
        dup.tap { |copy| copy.instance_variable_set(:@leaks, @leaks.select(&).freeze) }.freeze
      end

      # @return [String] such as "3 threads created at app.rb:7; 12.0 MB of memory"
      def to_s
        [*@leaks, format("%.1f MB of memory", @memory / MEGABYTE)].join("; ")
      end

      private

      # One that ended may have made room for another: only where there are more in all, something is left.
      def grown(kind, before, after)
        return [] if after.values.sum <= before.values.sum

        after.filter_map do |site, count|
          more = count - before.fetch(site, 0)
          Leak.new(kind: kind.name.delete_suffix("s").to_sym, site:, count: more) if more.positive?
        end
      end
    end
  end
end
