# frozen_string_literal: true

module Guildhall
  class Doctor
    # A process of its own for what may crash or hang. What it writes is read here; what it prints is not shown.
    # @api private
    class Child
      # The first lines of the report that Ruby prints when it crashes. It can hang while it writes the rest: it allocates memory, and a
      # thread that crashed inside malloc still holds malloc's lock.
      CRASH_REPORT = /\[BUG\] (.+)\nruby \d/
      REPORTING = 1 # second that Ruby has to end after these lines
      LINES = 4_096 # bytes that these lines have at most
      private_constant :CRASH_REPORT, :REPORTING, :LINES

      # @return [String] what it wrote
      attr_reader :output

      # Blocks until it has ended. On Ruby 3.4 the pools' workers end first: see {Guildhall.before_fork}.
      # @param seconds [Numeric] after which it is killed
      # @yieldparam writer [IO] in the child
      def initialize(seconds, &work)
        Guildhall.before_fork if RUBY_VERSION < "4" && Guildhall.respond_to?(:before_fork)
        @output = +"".b
        @late = true
        (reader, writer), (errors, stderr) = Array.new(2) { IO.pipe(binmode: true) }
        pid = fork { Child.work(writer, stderr, &work) }
        [writer, stderr].each(&:close)
        @late = !read(reader, errors, Clock.now + seconds)
      ensure # also when this is interrupted
        [reader, writer, errors, stderr].each { |io| io&.close }
        Process.kill(:KILL, pid) if pid && @late
        @status = Process.wait2(pid).last if pid
      end

      # @return [String, nil] "SIGSEGV"; where Ruby hung while it reported the crash, the report's first words; nil: no crash
      def crash
        return @reported if @late

        "SIG#{Signal.signame(@status.termsig)}" if @status.signaled?
      end

      # @return [Integer, nil] the exit status with which the work has ended the process; nil: it has not
      def left_with = (@status.exitstatus if @status.exited? && !@status.success?)

      # @return [Boolean] whether it was killed because its time was up
      def late? = @late

      # @api private
      def self.work(writer, stderr)
        $stdout.reopen(File::NULL, "w")
        $stderr.reopen(stderr)
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
      def read(output, errors, limit)
        printed = +"".b
        open = [output, errors]
        while open.include?(output)
          ready, = IO.select(open, nil, nil, Clock.left(limit))
          return false unless ready

          ready.each { |io| append(io, io == output ? @output : printed) or open.delete(io) }
          @reported ||= printed[CRASH_REPORT, 1]
          limit = [limit, Clock.now + REPORTING].min if @reported
          printed.replace(printed.byteslice(-LINES, LINES) || printed)
        end
        true
      end

      # @return [String, nil] the text; nil: there is no more to read
      def append(io, text)
        chunk = io.read_nonblock(65_536, exception: false)
        return text if chunk == :wait_readable

        text << chunk if chunk
      end
    end
  end
end
