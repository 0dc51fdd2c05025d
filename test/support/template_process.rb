# frozen_string_literal: true

require "rbconfig"
require "socket"
require "tmpdir"

# A process that has loaded what many tests begin with (Bundler, librdkafka, a framework) and is forked for each of them: loading takes
# a second or two of computing each time, a fork some milliseconds. It has run nothing else, and has no other thread. What a test says
# about loading, or about a command as users start it, needs a process of its own instead (Subprocess#run_command).
class TemplateProcess
  # Like Process::Status.
  Status = Data.define(:pid, :exitstatus, :termsig) do
    def success? = exitstatus == 0 # rubocop:disable Style/NumericPredicate -- nil where a signal has ended it
    def signaled? = !termsig.nil?
    def to_s = signaled? ? "pid #{pid} SIG#{Signal.signame(termsig)} (signal #{termsig})" : "pid #{pid} exit #{exitstatus}"
  end

  # The process with which all templates end: the first one that has loaded this file. The processes that it starts, and theirs, share them.
  OWNER = Integer(ENV["TEMPLATES_OF"] ||= Process.pid.to_s)

  # Variables on which it depends which files are loaded: a process that has others needs a template of its own.
  KIND = %w[BUNDLE_GEMFILE LD_PRELOAD RUBYLIB RUBYOPT].freeze

  @computing = 0.0

  class << self
    # @return [Float] seconds that processes forked from templates have computed
    attr_accessor :computing

    # @param features [Array<String>] what it requires before it is forked
    def with(*features) = new(features).tap(&:start)
  end

  # @param features [Array<String>]
  def initialize(features)
    @features = features
    kind = [*features, *ENV.values_at(*KIND)].join("\0")
    number = kind.each_byte.inject(5381) { |hash, byte| ((hash * 33) + byte) & 0xffff_ffff_ffff } # short, as a socket's path has to be
    @path = File.join(Dir.tmpdir, "guildhall-template-#{OWNER}-#{number}")
  end

  # Unless another process has started it. It has nothing of this process, which may end before it does.
  def start
    return if File.socket?(@path)

    File.open("#{@path}.lock", "w") do |lock|
      lock.flock(File::LOCK_EX)
      return if File.socket?(@path)

      command = [RbConfig.ruby, "-r", __FILE__, "-e", "TemplateProcess::Server.start(ARGV)", @path, *@features]
      status = Process.wait2(spawn(*command, in: File::NULL, out: "#{@path}.log", err: %i[child out], pgroup: true)).last
      raise "no template process with #{@features.join(", ")}: #{status}\n#{File.read("#{@path}.log")}" unless status.success?
    end
  end

  # @param script [String, Array(String)] a file, or the text of one that stands alone
  # @param arguments [Array<String>]
  # @param env [Hash{String=>String, nil}] beside this process's environment
  # @param out [IO]
  # @param err [IO]
  # @yieldparam pid [Integer] while it runs; it leads a process group
  # @return [Status]
  def run(script, arguments, env:, chdir:, out:, err:)
    socket = UNIXSocket.new(@path)
    [out, err].each { |io| socket.send_io(io) || io.close } # before all else: a buffered read would swallow them
    environment = ENV.to_h.merge(env).compact.transform_values { |value| "#{value}" } # rubocop:disable Style/RedundantInterpolation -- FFI's strings have a pointer
    socket.write(Marshal.dump([script, arguments, environment, chdir]))
    yield Marshal.load(socket)
    status, computing = Marshal.load(socket)
    TemplateProcess.computing += computing
    status
  ensure
    socket&.close
  end

  # In the template itself.
  class Server
    # @param arguments [Array<String>] the socket's path, and what it requires
    def self.start(arguments)
      path, *features = arguments
      features.each { |feature| require feature }
      server = UNIXServer.new(path)
      fork do # who waits for the first one to end knows that all is loaded
        ENV["COVERAGE_TEST"] = nil # what was run so far is no test's: see tool/line_coverage.rb
        new(server).serve
      ensure
        File.delete(path, "#{path}.lock", "#{path}.log")
      end
    end

    def initialize(server)
      @server = server
    end

    def serve
      loop do
        if @server.wait_readable(1)
          socket = @server.accept
          fork { attend(socket) }
          socket.close
        end
        nil while Process.wait(-1, Process::WNOHANG)
      rescue Errno::ECHILD
        nil # none is left
      ensure
        Process.kill(0, OWNER)
      end
    rescue Errno::ESRCH
      nil
    end

    private

    # A process between the two: it waits for the one that the test wants.
    def attend(socket)
      @server.close
      out, err = Array.new(2) { socket.recv_io }
      script, arguments, environment, folder = Marshal.load(socket)
      pid = fork do
        Process.setpgrp
        socket.close
        become(script, arguments, environment, folder, out, err)
      end
      [out, err].each(&:close)
      Process.setpgid(pid, pid) # as it does itself: whoever comes first
      socket.write(Marshal.dump(pid))
      status = Process.wait2(pid).last
      times = Process.times
      socket.write(Marshal.dump([Status.new(pid, status.exitstatus, status.termsig), times.utime + times.stime + times.cutime + times.cstime]))
      exit!(0)
    end

    def become(script, arguments, environment, folder, out, err)
      ENV.replace(environment)
      Dir.chdir(folder)
      $stdin.reopen(File::NULL)
      $stdout.reopen(out)
      $stderr.reopen(err)
      $stderr.sync = true # as that of a process which was started: Ruby 3.4 forgets it
      [out, err].each(&:close)
      ARGV.replace(arguments)
      srand # or each would have the same numbers
      $PROGRAM_NAME = script.is_a?(Array) ? "-e" : script
      script.is_a?(Array) ? TOPLEVEL_BINDING.eval(script.first, "-e") : load(script)
    end
  end
end
