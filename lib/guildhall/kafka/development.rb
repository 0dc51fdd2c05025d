# frozen_string_literal: true

require "digest"
require "fileutils"
require "rbconfig"
require "socket"
require "tmpdir"
require_relative "testing"

module Guildhall
  module Kafka
    # A broker for development, where none is installed: an {Testing::EmbeddedBroker} in a process of its own, which the web server,
    # consumers and consoles of one folder share. The first of them starts it; it ends half a minute after the last one has, and its
    # messages with it.
    #
    #     config.kafka = {"bootstrap.servers": ENV.fetch("KAFKA_BOOTSTRAP_SERVERS") { Guildhall::Kafka::Development.broker }}
    module Development
      IDLE_SECONDS = 30
      START_SECONDS = 60
      ANSWER_SECONDS = 15 # in which the process that has the broker answers: a stopped one never does, and who attaches holds up all others
      PROGRAM = 'require "guildhall/kafka/development"; Guildhall::Kafka::Development::Host.run(*ARGV)'
      private_constant :IDLE_SECONDS, :START_SECONDS, :ANSWER_SECONDS, :PROGRAM

      # Its address, which tells an application that it is new and has no topics: those of its routes are created when it starts.
      # @api private
      class Address < Testing::EmbeddedBroker::Address
        def for_development? = true
      end

      # What another process does with the broker: a connection, which is open for as long as this process lives. A forked process makes
      # its own: two that read from one connection would take each other's answers.
      # @api private
      class Remote
        # @param seconds [Numeric] that an answer may take
        # @raise [SystemCallError] where nobody listens
        # @raise [EmbeddedBrokerError] where nobody answers
        def initialize(path, seconds: ANSWER_SECONDS)
          @path = path
          @seconds = seconds
          @lock = Mutex.new
          connect
        end

        attr_reader :servers, :pid

        def create_topic(name, partitions: 1)
          answer = @lock.synchronize do
            connect unless @owner == Process.pid
            @socket.puts("#{name} #{partitions}")
            receive.to_s.chomp
          end
          raise EmbeddedBrokerError, answer unless answer == "ok"
        end

        def close = @socket.close

        private

        def connect
          @socket&.close
          @socket = UNIXSocket.new(@path).tap { |socket| socket.timeout = @seconds }
          @owner = Process.pid
          @servers, @pid = receive&.split
          raise Errno::ECONNREFUSED, @path unless @servers # the broker has just ended
        end

        # @return [String, nil] nil: the broker has ended
        def receive
          @socket.gets
        rescue IO::TimeoutError
          close # an answer that comes late would be taken for that to the next question, which connects again
          @owner = nil
          raise EmbeddedBrokerError, "the broker for development has not answered for #{@seconds} s: its process is stopped, or hangs; " \
                                     "let it go on, or end it (lsof #{@path} names it), and start again"
        end
      end

      # The process that has the broker.
      # @api private
      class Host
        # @param path [String] of the socket that users connect to
        # @param idle_seconds [Numeric, String] after the last user
        def self.run(path, idle_seconds)
          %w[INT HUP].each { |signal| trap(signal, "IGNORE") } # Ctrl-C is for the process that has started it
          Testing::EmbeddedBroker.start { |broker| new(broker, path, Float(idle_seconds)).serve }
        end

        def initialize(broker, path, idle_seconds)
          @broker = broker
          @idle_seconds = idle_seconds
          @server = UNIXServer.new(path)
          @path = path
        end

        def serve
          users = []
          patience = [@idle_seconds, START_SECONDS].max # until the first user, who may be slow
          while (ready = IO.select([@server, *users], nil, nil, (patience if users.empty?))&.first)
            ready.each do |io|
              if io.equal?(@server)
                users << (io = @server.accept)
                patience = @idle_seconds
                io.puts("#{@broker.bootstrap_servers} #{Process.pid}")
              else
                line = io.gets
                line ? io.puts(create(line)) : users.delete(io)&.close
              end
            rescue SystemCallError
              users.delete(io)&.close
            end
          end
        ensure
          File.delete(@path)
        end

        private

        # Whatever is wrong with the line is the answer: other users need the broker.
        def create(line)
          name, _, partitions = line.chomp.rpartition(" ")
          @broker.create_topic(name, partitions: Integer(partitions))
          "ok"
        rescue StandardError => error
          error.message.tr("\n", " ")
        end
      end

      class << self
        # Blocks until the broker runs; who starts it says on standard error where. Each process of the folder gets the same one.
        # @param folder [String] whose processes share it
        # @return [String] for the setting `bootstrap.servers`
        # @raise [EmbeddedBrokerError] where it does not start within a minute, others may use the folder for its socket, or it
        #   cannot be made there
        def broker(folder: Dir.pwd, idle_seconds: IDLE_SECONDS, out: $stderr)
          @address ||= {}
          @address[folder] ||= begin
            remote, started = connect(folder, idle_seconds)
            if started
              out.puts("guildhall: no broker is set: an embedded one for this folder runs at #{remote.servers} (pid #{remote.pid}); its " \
                       "messages are gone #{idle_seconds} s after the last process that uses it")
            end
            Address.new(remote.servers, remote)
          end
        end

        private

        # Short: a socket's path has 108 bytes at most.
        def path(folder) = File.join(home, Digest::SHA256.hexdigest(folder)[0, 16])

        # Anybody may make it first where all users share the folder for temporary files.
        def home
          home = File.join(Dir.tmpdir, "guildhall-#{Process.euid}")
          begin
            Dir.mkdir(home, 0o700)
          rescue Errno::EEXIST
            stat = File.lstat(home)
            unless stat.directory? && stat.owned? && stat.mode.nobits?(0o077)
              raise EmbeddedBrokerError,
                "#{home} must be a directory that belongs to you, with mode 0700: remove it, or set TMPDIR to another directory"
            end
          end
          home
        end

        # @return [Array(Remote, Boolean)] and whether this process has started the broker
        def connect(folder, idle_seconds)
          path = path(folder)
          File.open("#{path}.lock", File::CREAT | File::RDWR | File::NOFOLLOW, 0o600) do |lock|
            lock.flock(File::LOCK_EX)
            remote = reach("#{path}.sock")
            [remote || launch("#{path}.sock", idle_seconds), remote.nil?]
          end
        rescue SystemCallError, ::ArgumentError => error # a path that is too long for a socket, say, or a disk that is full
          raise EmbeddedBrokerError, "the broker for development needs a directory with room, whose path is short, and that you may " \
                                     "write to: set TMPDIR to one, or set the brokers yourself (#{error.message})"
        end

        def reach(socket)
          Remote.new(socket)
        rescue SystemCallError
          nil
        end

        def launch(socket, idle_seconds)
          FileUtils.rm_f(socket)
          folders = $LOAD_PATH.flat_map { |folder| ["-I", folder.to_s] }
          pid = Process.spawn(RbConfig.ruby, *folders, "-e", PROGRAM, socket, idle_seconds.to_s,
            in: File::NULL, out: File::NULL, err: File::NULL, pgroup: true) # whoever reads its output would wait for its end
          process = Process.detach(pid)
          deadline = Clock.now + START_SECONDS
          until (remote = reach(socket))
            raise EmbeddedBrokerError, "the broker for development ended before it was ready (#{process.value})" unless process.alive?
            raise EmbeddedBrokerError, "the broker for development did not start within #{START_SECONDS} s" if Clock.now > deadline

            sleep(0.05)
          end
          remote
        end
      end
    end
  end
end
