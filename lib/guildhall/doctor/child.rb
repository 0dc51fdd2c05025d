# frozen_string_literal: true

module Guildhall
  class Doctor
    # A process of its own for what may crash or hang. What it writes is read here; what it says on its way down is not shown.
    class Child
      # @return [String] what it wrote
      attr_reader :output

      # Blocks until it has ended. On Ruby 3.4 the pools' workers end first: see {Guildhall.before_fork}.
      # @param seconds [Numeric] after which it is killed
      # @yieldparam writer [IO] in the child
      def initialize(seconds, &work)
        Guildhall.before_fork if defined?(Pool::ForkGuard)
        reader, writer = IO.pipe(binmode: true)
        pid = fork { Child.work(reader, writer, &work) }
        writer.close
        @output = Child.read(reader, seconds)
        Process.kill(:KILL, pid) unless @output
        @late = @output.nil?
        @output ||= ""
        @status = Process.wait2(pid).last
        reader.close
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
        $stderr.reopen(File::NULL)
        Warning[:experimental] = false
        done = false
        yield writer
        writer.close
        done = true
      ensure
        exit!(done)
      end

      # @api private
      # @return [String, nil] nil: it had not ended by then
      def self.read(reader, seconds)
        limit = Clock.now + seconds
        output = +"".b
        while reader.wait_readable(Clock.left(limit))
          chunk = reader.read_nonblock(65_536, exception: false)
          return output if chunk.nil?

          output << chunk if chunk.is_a?(String)
        end
      end
    end
  end
end
