# frozen_string_literal: true

require "optparse"

module Demo
  NO_BROKER = "--web (the broker inside this process describes neither topics nor groups: name one in KAFKA_BOOTSTRAP_SERVERS, such as " \
              "localhost:9092 after `docker compose up -d`)"
  private_constant :NO_BROKER

  # What the user asked for.
  Options = Data.define(:messages, :workers, :seconds, :topic, :group, :record, :json, :web) do
    def self.parse(arguments)
      chosen = {messages: 20_000, workers: nil, seconds: nil, topic: nil, group: nil, record: nil, json: false, web: false}
      parser = build_parser(chosen)
      rest = parser.parse(arguments)
      raise OptionParser::InvalidArgument, rest.join(" ") unless rest.empty?
      raise OptionParser::InvalidArgument, NO_BROKER if chosen[:web] && ENV.fetch("KAFKA_BOOTSTRAP_SERVERS", "").empty?

      chosen[:topic] ||= "guildhall-demo-#{Time.now.strftime("%Y%m%d-%H%M%S")}-#{Process.pid}"
      chosen[:group] ||= chosen[:topic]
      new(**chosen)
    rescue OptionParser::ParseError => error
      warn("bin/demo: #{error.message}", "", parser)
      exit(2)
    end

    def self.build_parser(chosen)
      OptionParser.new do |options|
        options.banner = <<~TEXT
          usage: bin/demo [options]

          Sends real GitHub webhooks through Kafka and consumes them twice: with Guildhall, which decodes, checks and
          filters them on worker Ractors, and as one writes it by hand. Prints what each of them did and how fast.

          Uses the broker that KAFKA_BOOTSTRAP_SERVERS names, or else one inside this process.
          Ctrl-C stops at any moment, commits what was done and prints the table so far.

        TEXT
        options.on("--messages N", OptionParser::DecimalInteger, "how many to send (20000)") { |n| chosen[:messages] = positive(n) }
        options.on("--workers N", OptionParser::DecimalInteger, "worker Ractors (as many as pay off here)") { |n| chosen[:workers] = positive(n) }
        options.on("--seconds N", Float, "stop consuming after N seconds") { |n| chosen[:seconds] = positive(n) }
        options.on("--topic NAME", "an existing one is continued, not filled twice (a new one)") { |name| chosen[:topic] = name }
        options.on("--group NAME", "consumer group; a group that was stopped continues from its committed offsets") do |name|
          chosen[:group] = name
        end
        options.on("--record FILE", "append partition and offset of each message handled") { |path| chosen[:record] = path }
        options.on("--json", "print the figures as one line of JSON") { chosen[:json] = true }
        options.on("--web", "show the broker's topics and groups on the dashboard, until Ctrl-C") { chosen[:web] = true }
        options.on("-h", "--help", "show this") { puts(options) || exit }
      end
    end

    def self.positive(number)
      raise OptionParser::InvalidArgument, "#{number} (must be above 0)" unless number.positive?

      number
    end
  end
end
