# frozen_string_literal: true

require_relative "constant"
require_relative "payloads"

module Guildhall
  class CLI
    # `guildhall advise --payloads PATH --task FILE:Constant`.
    class Advise < Command
      # (see Command.summary)
      def self.summary = "Measure your payloads: do workers pay, from which batch size, how many, eager or lazy"

      private

      def define_options(options)
        options.on("--payloads PATH", "a file, the lines of a .jsonl or .ndjson, or the files of a folder")
        options.on("--topic NAME", "payloads of this Kafka topic (gem guildhall-kafka)")
        options.on("--servers LIST", "of the topic's broker (default: localhost:9092)")
        options.on("--task CONSTANT", "FILE:Constant, or a constant such as Guildhall::JSON")
        options.on("-r", "--require FILE", "load this first, such as config/environment.rb")
        options.on("--workers N", Integer, "the maximum of workers (default: what a pool has)")
        options.on("--limit N", Integer, "payloads at most (default: 2000)")
        options.on("--html FILE", "write a page with charts, too")
        options.on("--quick", "fewer rounds")
        options.on("--[no-]progress", "show a bar; default: on a terminal, where the gem ruby-progressbar is")
        options.on("--json", "as one JSON object")
        options.separator("\nExit status: 0 it pays, 1 it does not, 2 wrong usage.")
      end

      def call(_arguments)
        require_relative "../codecs"
        require_relative "../advisor"
        Constant.load(@options[:require]) if @options[:require]
        name = @options[:task] || raise(Guildhall::ArgumentError, "--task is needed (guildhall advise --help)")
        advice = Advisor.new(Constant.resolve(name), payloads, **settings).advise
        write_page(advice, name) if @options[:html]
        @options[:json] ? print_json(advice.to_h) : @out.puts(advice)
        advice.pays? ? 0 : 1
      end

      def settings
        {workers: @options[:workers], rounds: @options[:quick] ? 3 : Advisor::ROUNDS, progress: progress("Measuring")}
      end

      def payloads
        limit = @options[:limit] || 2000
        raise Guildhall::ArgumentError, "--limit must be 1 or more, not #{limit}" unless limit.positive?

        return Payloads.of_topic(@options[:topic], @options[:servers] || "localhost:9092", limit:) if @options[:topic]

        path = @options[:payloads] || raise(Guildhall::ArgumentError, "--payloads PATH or --topic NAME is needed (guildhall advise --help)")
        Payloads.read(path, limit:)
      end

      def write_page(advice, name)
        require_relative "../advisor/page"
        File.write(@options[:html], Advisor::Page.new(advice, name:, machine: "#{RUBY_DESCRIPTION}, #{Etc.nprocessors} cores").to_html)
        @err.puts("guildhall: #{@options[:html]} is written")
      end
    end
  end
end
