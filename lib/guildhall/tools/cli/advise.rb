# frozen_string_literal: true

require "etc"
require "guildhall/cli/constant"
require_relative "payloads"

module Guildhall
  module Tools
    module CLI
      # `guildhall advise --payloads PATH --task FILE:Constant`.
      class Advise < Guildhall::CLI::Command
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
          options.on("--limit N", Integer, "payloads at most (default, and maximum: 2000)")
          options.on("--html FILE", "write a page with charts, too")
          options.on("--quick", "fewer rounds")
          options.on("--[no-]progress", "show a bar; default: on a terminal, where the gem ruby-progressbar is")
          options.on("--json", "as one JSON object")
          options.separator("\nExit status: 0 it pays, 1 it does not, or that is uncertain, 2 wrong usage.")
        end

        def call(_arguments)
          require "guildhall/codecs"
          require_relative "../../advisor"
          keep_output
          Guildhall::CLI::Constant.load(@options[:require]) if @options[:require]
          name = @options[:task] || raise(Guildhall::ArgumentError, "--task is needed (guildhall advise --help)")
          check
          @empty = 0
          samples = payloads
          advisor = Advisor.new(Guildhall::CLI::Constant.resolve(name), samples, **settings)
          announce(name, samples.size)
          advice = advisor.advise
          write_page(advice, name) if @options[:html]
          @options[:json] ? print_json(advice.to_h) : @out.puts(advice)
          advice.pays? ? 0 : 1
        end

        # Sends what the task prints to standard error from here on: workers hold some of it back until the process ends.
        def keep_output
          return unless @out.equal?($stdout)

          @out = $stdout.dup.tap { |out| out.sync = true }
          $stdout.reopen($stderr)
        end

        def settings
          {workers: @options[:workers], rounds: @options[:quick] ? 3 : Advisor::ROUNDS, progress: progress("Measuring")}
        end

        # Measuring takes a minute, in which nothing else is printed unless there is a bar.
        def announce(name, count)
          duration = @options[:quick] ? "half a minute" : "a minute (--quick: half of it)"
          empty = " (empty files: #{@empty})" if @empty.positive?
          @err.puts("guildhall: measures #{name} with #{count} payload#{"s" if count > 1}#{empty}; that takes about #{duration}, or some " \
                    "minutes if one payload takes a second")
        end

        # Before a minute of measuring.
        def check
          topic, path, servers, html = @options.values_at(:topic, :payloads, :servers, :html)
          raise Guildhall::ArgumentError, "--payloads and --topic are two sources: name one" if topic && path
          raise Guildhall::ArgumentError, "--servers belongs to --topic" if servers && !topic
          return if html.nil? || (File.directory?(File.dirname(html)) && !File.directory?(html))

          raise Guildhall::ArgumentError, "--html needs a file in a folder that exists, not #{html}"
        end

        def payloads
          limit = @options[:limit] || Advisor::SAMPLES
          unless limit.between?(1, Advisor::SAMPLES)
            raise Guildhall::ArgumentError, "--limit must be 1 to #{Advisor::SAMPLES}, not #{limit}"
          end
          return Payloads.of_topic(@options[:topic], @options[:servers] || "localhost:9092", limit:) if @options[:topic]

          path = @options[:payloads]
          raise Guildhall::ArgumentError, "--payloads PATH or --topic NAME is needed (guildhall advise --help)" unless path

          Payloads.read(path, limit:) { @empty += 1 }
        end

        def write_page(advice, name)
          require_relative "../../advisor/page"
          File.write(@options[:html], Advisor::Page.new(advice, name:, machine: "#{RUBY_DESCRIPTION}, #{Etc.nprocessors} cores").to_html)
          @err.puts("guildhall: #{@options[:html]} is written")
        end
      end
    end
  end
end
