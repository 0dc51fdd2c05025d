# frozen_string_literal: true

require "time"
require_relative "cluster_command"
require_relative "message_codec"
require_relative "message_format"
require_relative "moment"

module Guildhall
  module Kafka
    module CLI
      # `guildhall read TOPIC`: prints messages of a topic, all or those that fit conditions.
      class Read < ClusterCommand
        NONE = 1 # the exit statuses of grep
        FAILED = 2
        PROGRESS_SECONDS = 1
        NOTES = <<~TEXT.freeze

          --from and --until: #{Moment::EXPLAINED};
          an offset; for --from also earliest (default), latest, -100 (the last hundred of each partition), 0:17,1:9 (partition:offset).
          --where: JSONPath (RFC 9535) with $ for the payload: '$.total > 5', '$.customer.email == "a@b.c"', '$.refund' (exists),
          '$.items[?@.sku == "A-1"]', 'match($.sku, "A-.*")', with &&, || and !. Payloads are decoded as the topic's route says, without a route
          as JSON; --codec decides otherwise.
          --key: reads only the partition in which this application's producer puts the key; --all-partitions, where others produce it.
          --format: table (default in a terminal), json (default elsewhere; what `guildhall produce --json-lines` takes), raw (payloads), or a
          text:
          #{MessageFormat::Custom::EXPLAINED.gsub(/, (?=%d)|; /) { |separator| "#{separator.rstrip}\n" }}.
          Nothing is committed, no consumer group notices. What cannot be decoded is counted, and printed with --undecodable.
          Exit status: 0 something was found, 1 nothing, 2 it could not be searched, 130 Ctrl-C.
        TEXT
        private_constant :PROGRESS_SECONDS, :NOTES

        def self.summary = "Print messages of a topic: from a time or an offset, or those that fit a condition"

        # (see Guildhall::CLI::Command#run)
        def run(arguments)
          @given = arguments
          super
        rescue Guildhall::Error, Errno::ENOSPC => error
          raise unless Guildhall::CLI.status(error) == 1

          @err.puts("guildhall: #{error.message}")
          FAILED
        end

        private

        def arity = 1
        def waits? = @options[:follow] && !@search.nil? && connected?

        def define_options(options)
          options.banner = "usage: guildhall read TOPIC [options]\n#{self.class.summary}\n\n"
          super
          options.on("--from WHERE", "an offset, a time, or how long ago (default: earliest; with --follow: latest)")
          options.on("--until WHERE", "an offset, a time, or how long ago (default: what is there now)")
          options.on("-p", "--partition N,M", Array, "only these partitions")
          options.on("-w", "--where CONDITION", "only messages whose payload fits, such as '$.total > 5'")
          options.on("-k", "--key KEY", "only messages with this key")
          options.on("--all-partitions", "look for the key in all partitions")
          options.on("-H", "--header NAME=VALUE", "only messages with this header (NAME: whatever its value); may be repeated") do |pair|
            name, value = pair.split("=", 2)
            given_headers[name] = value
          end
          options.on("--codec NAME", MessageCodec::NAMES, "#{MessageCodec::NAMES.join(", ")} (default: the route's)")
          options.on("--registry URL", "the schema registry for --codec (default: #{MessageCodec::REGISTRY} of the environment)")
          options.on("-n", "--limit N", Integer, "stop after so many")
          options.on("-f", "--follow", "wait for more messages, until Ctrl-C")
          options.on("-o", "--format FORMAT", "table, json, raw, or a text such as '%p %o %v\\n'")
          options.on("--undecodable", "print what cannot be decoded, too, with the reason")
          options.on("-q", "--quiet", "do not say how much was searched")
          options.separator(NOTES)
        end

        def given_headers = @given_headers ||= {}

        # What can be wrong is found before a broker is asked.
        def call(arguments)
          @topic = arguments.first or raise Guildhall::ArgumentError, "which topic? guildhall read TOPIC #{see_help}"
          @format = MessageFormat.of(@options[:json] ? "json" : @options.fetch(:format) { tty? ? "table" : "json" }, @out)
          require "guildhall/json"
          @where = JSON::Path::Condition.new(@options[:where]) if @options[:where]
          @until = @options[:until] && Moment.until(@options[:until])
          raise Guildhall::ArgumentError, "--follow has no end: leave out --until #{see_help}" if @until && @options[:follow]

          super
        end

        def tty? = @out.respond_to?(:tty?) && @out.tty?

        def perform
          @search = search = Kafka.search(@topic, **conditions)
          begin
            show_progress(search) { interruptible(-> { stop(search) }) { print_found(search) } }
          rescue Guildhall::Error
            conclude(search.progress) if connected? # what was searched before is not lost
            raise
          end
          progress = search.progress
          conclude(progress)
          return 130 if @interrupted

          progress.found.zero? ? NONE : 0
        end

        def conditions
          from = Moment.from(@options.fetch(:from) { @options[:follow] ? "latest" : "earliest" })
          {where: @where, key: @options[:key], all_partitions: @options[:"all-partitions"], headers: given_headers, from:,
           until: @options[:follow] ? nil : @until || :end, partitions:, deserializer:, limit: @options[:limit],
           undecodable: @options[:undecodable], decode: @format.decodes?}
        end

        # @return [#call, false, nil] nil: the route's; false: none
        def deserializer
          name = @options[:codec]
          return MessageCodec.of(name, @options[:registry]) || false if name

          JSON if (@where || @options[:undecodable]) && !routed?
        end

        def routed? = Kafka.routes.topics.any? { |route| route.match?(@topic) && route.deserializer }

        # While it connects there is nothing to finish.
        def stop(search) = connected? ? search.stop : Thread.main.raise(Interrupt)

        def connected? = @search.progress.places.any?

        def print_found(search)
          heading = @format.heading
          @out.sync = @options[:follow] # else many messages in one write
          search.run do |found|
            clear_progress
            heading = @out.write(heading) && nil if heading
            @out.write(@format.line(found))
          end
        ensure
          @out.flush # at the exit Ruby would keep silent about what cannot be written
        end

        # In a terminal a line is written over again and again.
        def show_progress(search)
          return yield if @options[:quiet] || @options[:follow] || !@err.respond_to?(:tty?) || !@err.tty?

          thread = Thread.new do
            loop do
              sleep(PROGRESS_SECONDS)
              @shown = true
              @err.print("\r\e[K#{searched(search.progress)}")
            end
          end
          yield
        ensure
          thread&.kill&.join
          clear_progress
        end

        def clear_progress
          @err.print("\r\e[K") if @shown
          @shown = false
        end

        def conclude(progress)
          return if @options[:quiet]

          narrowed = @where || @options[:key] || given_headers.any?
          unfinished = !progress.done? && !progress.places.empty?
          return unless narrowed || unfinished || progress.undecodable.positive? || progress.found.zero?

          @err.puts("guildhall: #{searched(progress)}")
          @err.puts("guildhall: to continue: #{continued(progress)}") if unfinished
        end

        def searched(progress)
          found, undecodable, messages = [progress.found, progress.undecodable, progress.messages].map { |one| Printable.number(one) }
          "#{found} found#{", #{undecodable} not decodable" if progress.undecodable.positive?}; searched " \
            "#{messages} messages#{share(progress)} (#{Printable.size(progress.bytes)}) of #{places(progress)} in " \
            "#{format("%.1f", progress.seconds)} s"
        end

        def share(progress)
          total = progress.places.sum { |place| place.to.is_a?(Float) ? 0 : place.to - place.from }
          left = progress.places.sum { |place| place.to.is_a?(Float) ? 0 : [place.to - place.position, 0].max }
          " (#{100 * (total - left) / total} % of what there is)" if total.positive? && left.positive?
        end

        def places(progress)
          begun = progress.places.select { |place| place.position > place.from }
          offsets = begun.map { |place| "#{place.number}@#{place.from}..#{place.position - 1}" }
          shown = offsets.first(8).join(" ")
          "#{Printable.count(progress.places.size, "partition")}" \
            "#{": #{shown}#{" …" if offsets.size > 8}" if offsets.any?}"
        end

        # The command that goes on: the same options, from where this one has stopped.
        def continued(progress)
          kept = without(@given, "--from", *("--until" if @until.is_a?(Time)))
          kept += ["--until", @until.utc.iso8601(3)] if @until.is_a?(Time)
          from = progress.rest.map { |pair| pair.join(":") }.join(",")
          ["guildhall", "read", *kept.map { |argument| quoted(without_secret(argument)) }, "--from", from].join(" ")
        end

        def without(arguments, *names)
          skip = false
          arguments.reject do |argument|
            next (skip = false) || true if skip

            skip = names.include?(argument)
            skip || names.any? { |name| argument.start_with?("#{name}=") }
          end
        end

        # For a shell, and legible.
        def quoted(argument) = argument.match?(%r{\A[\w.,:=@%+/-]+\z}) ? argument : "'#{argument.gsub("'", "'\\\\''")}'"

        def without_secret(argument)
          option, name, value = /\A(-\w*?X|--[a-z-]+=)?([\w.]+=)?(.*)\z/m.match(argument).captures # options may be abbreviated, and joined
          Config::Secrets.secret?(name.to_s.delete_suffix("="), value) ? "#{option}#{name}#{Config::Secrets::HIDDEN}" : argument
        end
      end
    end
  end
end
