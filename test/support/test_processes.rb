# frozen_string_literal: true

require "etc"
require_relative "test_times"
require_relative "../../tool/line_coverage"

# Runs test classes side by side, each class in one of a few processes that are forked when all files are loaded. A process takes the next
# class when it is done with one. Those known to take long come first (see TestTimes), so that no process works on one of them when the
# others have nothing left; all others come in the order of the seed.
#
# Many tests wait more than they compute, so there are more processes than cores. No class is begun while those that run are known to
# compute enough for the machine. One that has not run here yet counts as a scenario that waits, or else as a class that only computes.
#
# A process that dies (a fault in the C) fails the test that it was at; another one goes on with the rest of the class.
class TestProcesses
  MOST_COMPUTING = Etc.nprocessors + 2 # classes that only compute
  DEFAULT = MOST_COMPUTING + 6 # processes: many tests wait
  LEAST_SHARE = 0.2 # what a class counts for at least: brokers and other servers compute for it, too
  LONG_SECONDS = 3 # a class that takes longer is started early
  SCENARIO = [10.0, 5.0].freeze # seconds, and seconds of computing, of a test of test/integration that has not run here

  # Takes the place of Minitest's loop over the classes.
  module Plugin
    attr_accessor :processes

    def run_all_suites(reporter, options)
      units = TestProcesses.units(Minitest::Runnable.runnables, options)
      count = [processes, units.size].min
      count > 1 || LineCoverage.running? ? TestProcesses.new(units, count, reporter).run : super
    end
  end

  # What one process runs without a pause: tests of one class.
  Unit = Struct.new(:suite, :names) do
    def seconds = times.sum(&:first)

    # @return [Float] how much of the time it computes
    def share
      @share ||= begin
        seconds, computing = times.transpose.map(&:sum)
        seconds.zero? ? 1.0 : (computing / seconds).clamp(LEAST_SHARE, 1.0)
      end
    end

    # For another process.
    def to_a = [suite.name, names]

    def file = Object.const_source_location(suite.name).first.delete_prefix("#{Environment::ROOT}/")

    private

    def times = @times ||= names.map { |name| TestTimes.of(suite, name) || (file.start_with?("test/integration/") ? SCENARIO : [0.0, 0.0]) }
  end

  # The parent's side of a process.
  class Worker
    attr_reader :answers, :unit

    # @param others [Array<Worker>] whose pipes the new process must not keep open
    def initialize(others)
      commands, @commands = IO.pipe(binmode: true)
      @answers, answers = IO.pipe(binmode: true)
      @pid = fork do
        [@commands, @answers, *others.flat_map(&:pipes)].each(&:close)
        serve(commands, answers)
      rescue Interrupt
        exit(130) # the parent says so
      end
      [commands, answers].each(&:close)
    end

    def pipes = [@commands, @answers]

    # @return [self]
    def give(unit)
      @unit = unit
      @left = unit.names.dup
      @commands.write(Marshal.dump(unit.to_a))
      self
    rescue Errno::EPIPE
      self # it has just died, as its answers will say
    end

    # @return [Object, nil] what it says next: a name that it begins with, a result, or that it is done; nil when it has died
    def hear
      message = Marshal.load(@answers)
      case message
      when String then @current = message
      when Minitest::Result then @left.delete(message.name)
      end
      message
    rescue EOFError
      nil
    end

    # After it has died.
    # @return [Array(Minitest::Result, Unit)] of the test that it was at, and what it has not run
    def post_mortem
      status = Process.wait2(@pid).last
      pipes.each(&:close)
      name = @left.include?(@current) ? @current : @left.first || @current
      result = Minitest::Result.new(name)
      result.klass = @unit.suite.name
      result.time = 0
      result.failures = [Minitest::Assertion.new("the process that ran it has died: #{status}").tap { |failure| failure.set_backtrace([]) }]
      [result, Unit.new(@unit.suite, @left - [name])]
    end

    # When it has nothing left to do, or (with a signal) whatever it does.
    def stop(signal = nil)
      Process.kill(signal, @pid) if signal
      pipes.each(&:close)
      Process.wait(@pid)
    rescue Errno::ESRCH, Errno::ECHILD
      nil # it has ended
    end

    # What it is at, for those who have lost patience.
    def to_s = "#{@unit.suite}##{@current}"

    private

    # In the process.
    def serve(commands, answers)
      say = ->(message) { answers.write(Marshal.dump(message)) }
      until commands.eof?
        name, names = Marshal.load(commands)
        unit = Unit.new(Object.const_get(name), names)
        LineCoverage.of(unit.file) do
          unit.names.each do |name|
            say.call(name)
            say.call(unit.suite.new(name).run)
          end
        end
        say.call(:done)
      end
    end
  end
  private_constant :Unit, :Worker

  # @param suites [Array<Class>]
  # @return [Array<Unit>] in the order in which they are begun
  def self.units(suites, options)
    all = suites.flat_map do |suite|
      names = suite.filter_runnable_methods(options)
      suite.respond_to?(:apart?) && suite.apart? ? names.map { |name| Unit.new(suite, [name]) } : [Unit.new(suite, names)]
    end
    long, short = all.reject { |unit| unit.names.empty? }.partition { |unit| unit.seconds > LONG_SECONDS }
    long.sort_by { |unit| -unit.seconds } + short.shuffle(random: Random.new(Minitest.seed))
  end

  # @param units [Array<Unit>]
  # @param count [Integer] of processes at most
  def initialize(units, count, reporter)
    @waiting = units
    @count = count
    @reporter = reporter
    @busy = []
    @idle = []
  end

  def run
    $stdout.flush
    begin_units
    until @busy.empty?
      IO.select(@busy.map(&:answers)).first.each { |answers| hear(@busy.find { |worker| worker.answers == answers }) }
      begin_units
    end
  rescue Interrupt
    warn("", "Interrupted at #{@busy.join(", ")}")
    raise
  ensure
    @idle.each(&:stop)
    @busy.each { |worker| worker.stop(:TERM) }
  end

  private

  def begin_units
    while (index = next_index)
      worker = @idle.pop || Worker.new(@busy)
      @busy << worker.give(@waiting.delete_at(index))
    end
  end

  # @return [Integer, nil] of the first one for which there are a process and time to compute
  def next_index
    return if @busy.size == @count

    left = MOST_COMPUTING - @busy.sum { |worker| worker.unit.share }
    @waiting.index { |unit| unit.share <= left }
  end

  def hear(worker)
    case (message = worker.hear)
    when Minitest::Result then record(worker.unit.suite, message)
    when :done then @idle << @busy.delete(worker)
    when nil then bury(@busy.delete(worker))
    end
  end

  # What is left of its class comes next.
  def bury(worker)
    result, rest = worker.post_mortem
    record(worker.unit.suite, result)
    @waiting.unshift(rest) if rest.names.any?
  end

  # A line that begins with the test's name ends with its result, whatever other processes do meanwhile.
  def record(suite, result)
    @reporter.prerecord(suite, result.name)
    @reporter.record(result)
  end
end
