# frozen_string_literal: true

require_relative "../soft_dependency"

module Guildhall
  class Pool
    # Shows how many payloads are done: on a bar of the gem ruby-progressbar, or to a callable.
    # @api private
    class Progress
      # @param wanted [true, String, #call, nil] a bar; a bar with a title; called with `(done, total)`; nothing
      # @raise [MissingDependencyError] for a bar without the gem
      def self.of(wanted, total)
        return unless wanted
        return new(wanted, total) if wanted.respond_to?(:call)

        SoftDependency.require!("ruby-progressbar", gem: "ruby-progressbar", purpose: "progress: true")
        $stderr.tty? ? Bar.new(wanted, total) : new(->(_, _) {}, total)
      end

      def initialize(callable, total)
        @callable = callable
        @total = total
        @done = 0
      end

      def add(count = 1)
        reach(@done + count)
      end

      def reach(done)
        return if done == @done

        @done = done
        @callable.call(done, @total)
      end

      # No more will be done.
      def finish; end

      # On a terminal.
      class Bar < Progress
        def initialize(title, total)
          format = total ? "%t: |%B| %c/%C %e" : "%t: %c done, %r a second"
          @bar = ::ProgressBar.create(title: title == true ? "Payloads" : title, total:, format:, output: $stderr, autofinish: false)
          super(->(done, _) { @bar.progress = done }, total)
        end

        def finish
          @bar.stop
        end
      end
    end
  end
end
