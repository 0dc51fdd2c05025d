# frozen_string_literal: true

require_relative "topic"
require_relative "tally"
require_relative "progress"
require_relative "by_hand"
require_relative "with_guildhall"
require_relative "report"

module Demo
  # Fills the topic, lets both consumers have it, and reports. Ctrl-C and --seconds end it early and in order.
  class Run
    INTERRUPTED = 130
    # The same for both consumers.
    CONSUMER = {"auto.offset.reset": "earliest", "fetch.queue.backoff.ms": 5, "fetch.message.max.bytes": 10_000_000,
                "queued.max.messages.kbytes": 65_536, log_level: 3}.freeze

    # @param options [Options]
    def initialize(options)
      @options = options
      @corpus = Corpus.new(options.messages)
      @memory = {}
      @interrupts = 0
    end

    # @return [Integer] exit status
    def call
      trap_interrupt
      with_broker { |servers, broker| @options.web ? with_page(servers) { run(servers, broker) } : run(servers, broker) }
    rescue Topic::Lost, Topic::Unreachable, Rdkafka::RdkafkaError, Guildhall::Error => error
      warn("bin/demo: #{error.message}")
      1
    end

    private

    # Beside the dashboard, a process of its own that says its address, until Ctrl-C.
    def with_page(servers)
      command = File.expand_path("../../exe/guildhall", __dir__)
      @page = Process.spawn(RbConfig.ruby, command, "web", "--brokers", servers, "--port", "0", pgroup: true)
      status = yield
      return status if interrupted?

      warn("  the dashboard stays until Ctrl-C")
      sleep(0.1) until interrupted? || Process.wait(@page, Process::WNOHANG).tap { |ended| @page = nil if ended }
      status
    ensure
      Process.kill(:TERM, @page) && Process.wait(@page) if @page
    end

    # What comes, before it begins.
    def announce
      seconds = 2 + (@options.messages / 2_000)
      megabytes = 150 + (@options.messages / 100)
      warn("Sends #{@options.messages} real GitHub webhooks (0.9 to 27 KB each) through Kafka and consumes them twice: with",
        "Guildhall, and with the plain client and JSON.parse. Takes about #{seconds} s and #{megabytes} MB of memory, and leaves",
        "nothing on disk. Ctrl-C stops in order.")
    end

    def run(servers, broker)
      announce
      warn("  broker at #{servers}#{", inside this process" if broker}; topic #{@options.topic}")
      @topic = Topic.new(@options.topic, messages: @options.messages, servers:, broker:)
      @topic.fill(@corpus, method(:interrupted?))
      return interrupted("while sending") if interrupted?

      @settings = CONSUMER.merge("bootstrap.servers": servers)
      before = @topic.committed(@options.group)
      ours = with_guildhall(before)
      committed = @topic.committed(@options.group)
      by_hand = consume_by_hand unless stop?
      report(ours, by_hand, before.sum, committed)
    end

    def with_guildhall(before)
      @began = Demo.now
      run = WithGuildhall.new(@topic, @settings.merge("group.id": @options.group), @options)
      show("with Guildhall", @corpus.size - before.sum) { |progress| run.call(method(:stop?), progress, @corpus.size - before.sum) }
      @workers = run.worker_counts
      @memory["with Guildhall"] = peak_memory
      run.tally
    end

    def consume_by_hand
      @began = Demo.now
      GC.start
      run = ByHand.new(@topic, @settings.merge("group.id": "#{@options.group}-by-hand-#{Process.pid}"), @corpus.size)
      show("by hand", @corpus.size) { |progress| run.run(method(:stop?), progress) }
      @memory["in the end"] = peak_memory
      run.tally
    end

    def show(title, total)
      progress = Progress.new(title, total)
      yield progress
      progress.done
    end

    def report(ours, by_hand, before, committed)
      account = {sent: @corpus.size, before:, committed:, ends: @topic.watermarks.map(&:last)}
      report = Report.new(ours:, by_hand:, account:, workers: @workers, memory: @memory)
      puts @options.json ? JSON.generate(report.to_h) : ["", report]
      return interrupted("as asked; what was done is committed") if interrupted?
      return limited if limited?

      report.agrees? ? 0 : 1
    end

    def limited
      warn "stopped after #{@options.seconds} s, as asked; the same --topic and --group go on from here"
      0
    end

    def interrupted(where)
      warn("bin/demo: stopped #{where}; go on with --topic #{@options.topic} --group #{@options.group}")
      INTERRUPTED
    end

    def stop?
      interrupted? || limited?
    end

    def limited?
      @options.seconds && @began && Demo.now - @began > @options.seconds
    end

    def interrupted?
      @interrupts.positive?
    end

    # The first Ctrl-C ends things in order; who presses it again wants out.
    def trap_interrupt
      %w[INT TERM].each do |signal|
        trap(signal) do
          next if (@interrupts += 1) == 1

          Process.kill(:KILL, @page) if @page
          exit!(INTERRUPTED)
        end
      end
    end

    def with_broker
      servers = ENV.fetch("KAFKA_BOOTSTRAP_SERVERS", "")
      return yield(servers, nil) unless servers.empty?

      Guildhall::Kafka::Testing::EmbeddedBroker.start { |broker| yield(broker.bootstrap_servers, broker) }
    end

    def peak_memory
      File.foreach("/proc/self/status").find { |line| line.start_with?("VmHWM:") }.to_s[/\d+/].to_i
    rescue Errno::ENOENT
      0
    end
  end
end
