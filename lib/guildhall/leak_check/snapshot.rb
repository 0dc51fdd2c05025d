# frozen_string_literal: true

require "etc"

module Guildhall
  module LeakCheck
    # Counts of a process's threads, Ractors and file descriptors at one moment, by where they were created.
    #
    # @!attribute [r] threads
    #   @return [Hash{String=>Integer}] by "file:line" of the thread's block, or by its name where it has no block in Ruby
    # @!attribute [r] ractors
    #   @return [Hash{String=>Integer}] by "file:line"; the main Ractor is left out
    # @!attribute [r] descriptors
    #   @return [Hash{String=>Integer}] by what they lead to: a path, or "socket", "pipe", "eventfd"; empty where the system does not say
    # @!attribute [r] memory
    #   @return [Integer] resident bytes; 0 where the system does not say
    class Snapshot < Data.define(:threads, :ractors, :descriptors, :memory)
      # @api private
      KINDS = %i[threads ractors descriptors].freeze
      # Started once by a library and kept: by the first Timeout.timeout, by the first callback from C, by the first line that
      # librdkafka logs.
      KEPT = %r{/timeout\.rb:|\AFFI Callback Dispatcher|/rdkafka/config\.rb:}
      FOLDER = "/proc/self/fd"
      PAGE = Etc.respond_to?(:sysconf) ? Etc.sysconf(Etc::SC_PAGESIZE) : 4096
      private_constant :KEPT, :FOLDER, :PAGE

      class << self
        def take
          new(threads: threads.freeze, ractors: ractors.freeze, descriptors: descriptors.freeze, memory:)
        end

        private

        def threads
          (Thread.list - [Thread.main]).reject { |thread| thread.name == Watcher::NAME }.map { |thread| site_of(thread) }.grep_v(KEPT).tally
        end

        def site_of(thread)
          return thread.name if thread.name == "FFI Callback Dispatcher"

          line_of(thread) || thread.name || thread.class.to_s
        end

        # Of "#<Thread:0x00007f@name file.rb:12 sleep>" or "#<Ractor:#2 name file.rb:12 blocking>". Those of one site may each have a
        # name of their own ("worker 1", "worker 2").
        def line_of(object)
          text = object.inspect
          text = text.sub(/[@ ]#{Regexp.escape(object.name)} /, " ") if object.name
          text[/\A#<\S+ (.+:\d+) (?!terminated)\S+>\z/, 1]
        end

        # Looking for them takes a walk through the heap: only where there are some.
        def ractors
          return {} if Ractor.count == 1

          found = ObjectSpace.each_object(Ractor).filter_map { |ractor| line_of(ractor) }
          found.first(Ractor.count - 1).tally
        end

        def descriptors
          return {} unless File.directory?(FOLDER)

          Dir.children(FOLDER).filter_map { |number| target_of(number) }.tally
        end

        # The descriptor that lists the folder is gone by now.
        def target_of(number)
          target = File.readlink(File.join(FOLDER, number))
          target[/\Aanon_inode:\[?(\w+)/, 1] || target[/\A(socket|pipe):/, 1] || target
        rescue SystemCallError
          nil
        end

        def memory
          File.read("/proc/self/statm").split[1].to_i * PAGE
        rescue SystemCallError
          0
        end
      end
    end

    # The difference between two snapshots: of what there is more in the later one.
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

      # An ended thread may have been replaced by one of another site: only a higher sum is a leak.
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
