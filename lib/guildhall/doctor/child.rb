# frozen_string_literal: true

module Guildhall
  class Doctor
    # A process of its own for what may crash or hang. What it writes is read here; what it prints, and says on its way down, is not shown.
    class Child
      # @return [String] what it wrote
      attr_reader :output

      # Blocks until it has ended. On Ruby 3.4 the pools' workers end first: see {Guildhall.before_fork}.
      # @param seconds [Numeric] after which it is killed
      # @yieldparam writer [IO] in the child
      def initialize(seconds, &work)
        Guildhall.before_fork if RUBY_VERSION < "4" && Guildhall.respond_to?(:before_fork)
        @output = +"".b
        @late = true
        reader, writer = IO.pipe(binmode: true)
        pid = fork { Child.work(reader, writer, &work) }
        writer.close
        @late = !read(reader, Clock.now + seconds)
      ensure # also when this is interrupted
        reader&.close
        Process.kill(:KILL, pid) if pid && @late
        @status = Process.wait2(pid).last if pid
      end

      # @return [String, nil] "SIGSEGV"; nil: it has ended by itself
      def crash
        "SIG#{Signal.signame(@status.termsig)}" if @status.signaled? && !@late
      end

      # @return [Integer, nil] the exit status with which the work has ended the process; nil: it has not
      def left_with = (@status.exitstatus if @status.exited? && !@status.success?)

      # @return [Boolean] whether it was killed because its time was up
      def late? = @late

      # @api private
      def self.work(reader, writer)
        reader.close
        [$stdout, $stderr].each { |io| io.reopen(File::NULL, "w") }
        Warning[:experimental] = false
        done = false
        yield writer
        writer.close
        done = true
      ensure
        exit!(done)
      end

      private

      # @return [Boolean] whether it has come to its end
      def read(reader, limit)
        while reader.wait_readable(Clock.left(limit))
          chunk = reader.read_nonblock(65_536, exception: false)
          return true if chunk.nil?

          @output << chunk if chunk.is_a?(String)
        end
        false
      end
    end
  end
end
