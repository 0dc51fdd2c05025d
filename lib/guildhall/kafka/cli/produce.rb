# frozen_string_literal: true

require "guildhall/clock"
require "guildhall/printable"
require_relative "cluster_command"
require_relative "message_codec"

module Guildhall
  module Kafka
    module CLI
      # `guildhall produce TOPIC`: sends what comes from standard input, a message for each line.
      class Produce < ClusterCommand
        CHUNK_BYTES = 1 << 18
        MAX_LINE_BYTES = 100_000_000
        WINDOW = 20_000 # messages on their way
        AT_ONCE = 1_000 # messages handed over in one call
        WAIT_SECONDS = 0.2 # for input, so that Ctrl-C ends it
        PROGRESS_SECONDS = 1
        COMPLAINTS = 10 # printed; the others are counted
        RATE = %r{\A(\d{1,9}(?:\.\d+)?)(?:/([smh]))?\z}
        SECONDS = {nil => 1, "s" => 1, "m" => 60, "h" => 3_600}.freeze
        NOTES = <<~TEXT

          A line is a message: its bytes, without the end of the line, are the payload; empty lines are left out. With --json-lines a line is an
          object as `guildhall read --format json` prints it: key, payload, headers, partition and timestamp (milliseconds), or key_base64,
          payload_base64 and headers_base64; a payload that is null or missing is a tombstone, one that is no string is sent as JSON; its other
          members are ignored. --codec encodes the payload, which is JSON then: by its name, or with "route" as the topic's route says.
          --key '$.id' takes the key from the payload (JSONPath), another text is the key of all messages.
          Standard output stays empty; the account comes on standard error. Ctrl-C sends nothing more, waits for what is on its way, and says
          what was delivered.
          Exit status: 0 all was delivered, 1 something was not, 2 wrong usage, 130 Ctrl-C.
        TEXT
        private_constant :CHUNK_BYTES, :MAX_LINE_BYTES, :WINDOW, :AT_ONCE, :WAIT_SECONDS, :PROGRESS_SECONDS, :COMPLAINTS, :RATE, :SECONDS,
          :NOTES

        def self.summary = "Send messages to a topic, one for each line of standard input"

        # What became of the lines.
        Account = Struct.new(:delivered, :bytes, :failed, :empty) do
          def initialize = super(0, 0, 0, 0)
        end

        # A line that makes no message.
        class LineError < StandardError
          include Guildhall::Error
        end
        private_constant :Account, :LineError

        private

        def json? = false
        def arity = 1
        def waits? = !@producer.nil?

        def define_options(options)
          options.banner = "usage: guildhall produce TOPIC [options] < FILE\n#{self.class.summary}\n\n"
          super
          options.on("--json-lines", "each line is an object with key, payload, headers, partition and timestamp")
          options.on("-k", "--key KEY", "of all messages, or a JSONPath such as '$.id' into the payload")
          options.on("-H", "--header NAME=VALUE", "of all messages; may be repeated") do |pair|
            name, value = pair.split("=", 2)
            raise Guildhall::ArgumentError, "--header takes NAME=VALUE, not #{pair.inspect} #{see_help}" if name.to_s.empty? || value.nil?

            given_headers[name] = value
          end
          options.on("-p", "--partition N", Integer, "to this partition (default: the partitioner's, or the line's)")
          options.on("--repartition", "ignore the partitions of --json-lines")
          names = [*MessageCodec::NAMES, "route"]
          options.on("--codec NAME", names, "#{names.join(", ")} (default: bytes as they are)")
          options.on("--registry URL", "the schema registry for --codec (default: #{MessageCodec::REGISTRY} of the environment)")
          options.on("--rate N/s", "at most so many messages a second (or N/m, N/h)")
          options.on("-q", "--quiet", "no account, only what was not delivered")
          options.separator(NOTES)
        end

        def given_headers = @given_headers ||= {}

        # What can be wrong is found before a broker is asked.
        def call(arguments)
          @topic = arguments.first or raise Guildhall::ArgumentError, "which topic? guildhall produce TOPIC < FILE #{see_help}"
          if input.tty?
            raise Guildhall::ArgumentError, "nothing to send: messages come from standard input, as in " \
                                            "guildhall produce #{@topic} < file.ndjson, or echo hello | guildhall produce #{@topic}"
          end

          require "guildhall/json"
          @key_path = JSON::Path.new(@options[:key]) if @options[:key]&.start_with?("$")
          @seconds_each = @options[:rate] && seconds_each(@options[:rate])
          super
        end

        def input = $stdin

        def seconds_each(text)
          number, unit = RATE.match(text)&.captures
          return SECONDS.fetch(unit) / Float(number) if number && Float(number).positive?

          raise Guildhall::ArgumentError, "--rate takes a number of messages such as 100/s, 30/m or 10/h, not #{text.inspect} #{see_help}"
        end

        def perform
          check_topic
          @codec = codec
          @producer = Kafka.producer
          @account = Account.new
          @pending = []
          @complaints = 0
          @began_at = Clock.now
          interruptible(-> { @stopping = true }) do
            each_chunk { |lines, number| send_lines(lines, number) }
            settle(0)
          end
          conclude
        end

        # Asked of a consumer's client, for which brokers create no topic.
        def check_topic
          config = Kafka.config
          config.validate!
          own = {"client.id": config.client_id, "group.id": "#{config.client_id}.produce"}
          Broker::Session.open({**Producing::Settings.shared(config.kafka), **own}) do |session|
            count = session.topic(@topic).leaders.size
            number = @options[:partition]
            next if number.nil? || number.between?(0, count - 1)

            raise Guildhall::ArgumentError, "topic #{@topic} has the partitions 0 to #{count - 1}, not #{number}"
          end
        rescue UnknownTopicError => error
          hint = error.suggestion.empty? ? "; create it first: guildhall topics create #{@topic}" : ""
          raise Guildhall::ArgumentError, "#{error.message}#{hint}"
        end

        # @return [Codec, :route, nil]
        def codec
          name = @options[:codec] or return
          return MessageCodec.of(name, @options[:registry], topic: @topic) unless name == "route"

          route = Kafka.routes.topics.find { |one| one.match?(@topic) }
          return :route if route&.encoder

          raise Guildhall::ArgumentError, "no route of the application encodes for topic #{@topic}: name a --codec"
        end

        # @yieldparam lines [Array<String>] without their ends: those that have come, so that none waits for the next
        # @yieldparam number [Integer] of the first of them
        def each_chunk
          rest = +"".b
          number = 1
          until @stopping
            next unless input.wait_readable(WAIT_SECONDS)

            first, *others = input.readpartial(CHUNK_BYTES).b.split("\n", -1)
            rest << first
            if rest.bytesize > MAX_LINE_BYTES
              return refuse("line #{number}", "it is longer than #{MAX_LINE_BYTES} bytes; what follows it is not read")
            end
            next if others.empty?

            yield [rest, *others[0...-1]], number
            number += others.size
            rest = +others.last
          end
        rescue EOFError
          yield [rest], number unless rest.empty?
        end

        def send_lines(lines, number)
          at_once = @seconds_each ? (0.1 / @seconds_each).ceil.clamp(1, AT_ONCE) : AT_ONCE
          lines.each_slice(at_once) do |some|
            return if @stopping

            hand_over(some.each_with_index.filter_map { |line, index| message_of(line, number + index) })
            number += some.size
            settle(WINDOW)
            show_progress
            throttle
          end
        end

        def message_of(line, number)
          line = line.delete_suffix("\r") if @options[:"json-lines"]
          return (@account.empty += 1) && nil if line.empty?

          message = @options[:"json-lines"] ? from_object(line) : {payload: line}
          encoded({topic: @topic, **message, **given(message)})
        rescue Guildhall::Error => error
          refuse("line #{number}", error.message)
          nil
        end

        def given(message)
          own = {}
          own[:partition] = @options[:partition] if @options[:partition]
          own[:key] = @key_path ? key_of(message[:payload]) : @options[:key] if @options[:key]
          own[:headers] = {**message[:headers].to_h, **given_headers} if given_headers.any?
          own
        end

        def key_of(payload)
          found = payload && @key_path.of(payload.is_a?(String) ? JSON.document(payload) : payload)
          raise LineError, "no key at #{@key_path}" if found.nil? || found.empty? || found.first.nil?
          raise LineError, "several keys at #{@key_path}" if found.size > 1

          key = Document.plain(found.first)
          key.is_a?(String) ? key : JSON.encode(key)
        end

        def encoded(message)
          payload = message[:payload]
          return message if payload.nil?

          case @codec
          when nil then payload.is_a?(String) ? message : message.merge(payload: JSON.encode(payload))
          when :route then message.merge(payload: value(payload)) # the producer encodes it
          else
            own = @codec.respond_to?(:registry) && @codec.respond_to?(:headers) ? @codec.headers : {}
            headers = own.empty? ? {} : {headers: {**message[:headers].to_h, **own}}
            message.merge({payload: @codec.encode(value(payload))}, headers)
          end
        end

        def value(payload) = payload.is_a?(String) ? JSON.decode(payload) : payload

        def from_object(line)
          object = JSON.decode(line)
          raise LineError, "an object is needed, not #{object.class}" unless object.is_a?(Hash)

          message = {payload: member(object, "payload"), key: member(object, "key"), headers: headers(object)}
          message[:partition] = integer(object, "partition") unless @options[:repartition]
          message[:timestamp] = integer(object, "timestamp")
          raise LineError, "key is no string" unless message[:key].nil? || message[:key].is_a?(String)

          message.compact.merge(payload: message[:payload])
        end

        def member(object, name)
          encoded = object["#{name}_base64"]
          encoded ? unpack(encoded, name) : object[name]
        end

        def unpack(text, name)
          text.unpack1("m0")
        rescue ::ArgumentError, NoMethodError
          raise LineError, "#{name}_base64 is not base 64"
        end

        def integer(object, name)
          value = object[name]
          return value if value.nil? || (value.is_a?(Integer) && !value.negative?)

          raise LineError, "#{name} is no number: #{value.inspect}"
        end

        def headers(object)
          plain, packed = object.values_at("headers", "headers_base64").map { |given| given.nil? ? {} : given }
          raise LineError, "headers are no object" unless plain.is_a?(Hash) && packed.is_a?(Hash)

          packed = packed.transform_values { |value| [*value].map { |one| one && unpack(one, "headers") } }
          {**plain, **packed}.transform_values { |value| header_value(value) }
        end

        # One value comes in an Array, too.
        def header_value(value)
          values = value.is_a?(Array) ? value : [value]
          values = values.map { |one| one.nil? || one.is_a?(String) ? one : JSON.encode(one) }
          values.size == 1 ? values.first : values
        end

        # What one message cannot be sent for says nothing about those that follow.
        def hand_over(messages)
          until messages.empty?
            begin
              note(@producer.produce_many_async(messages), messages)
              messages = []
            rescue ProduceError => error
              sent = error.dispatched.size
              note(error.dispatched, messages)
              refuse("a message of #{messages[sent][:payload].to_s.bytesize} bytes", ProduceError.reason_of(error)) unless full?(error)
              messages = messages.drop(full?(error) ? sent : sent + 1)
              return refuse_all(messages, "interrupted") if @stopping
            rescue Guildhall::EncodeError, Guildhall::ArgumentError => error # of one message: none was sent
              return refuse("a message", error.message) if messages.one?

              messages.each { |message| hand_over([message]) }
              messages = []
            end
          end
        end

        def full?(error) = error.is_a?(QueueFullError)

        def note(deliveries, messages)
          deliveries.each_with_index { |delivery, index| @pending << [delivery, messages[index][:payload].to_s.bytesize] }
        end

        def refuse_all(messages, reason) = messages.any? && refuse("#{messages.size} messages", reason, messages.size)

        def refuse(what, reason, count = 1)
          @account.failed += count
          @complaints += 1
          @err.puts("guildhall: #{what} not sent: #{reason}") if @complaints <= COMPLAINTS
          @err.puts("guildhall: further ones are only counted") if @complaints == COMPLAINTS
        end

        # Waits until no more than so many are on their way.
        def settle(most)
          while @pending.size > most
            delivery, bytes = @pending.shift
            begin
              delivery.wait
              @account.delivered += 1
              @account.bytes += bytes
            rescue Guildhall::Error => error
              refuse("a message", error.is_a?(ProduceError) ? ProduceError.reason_of(error) : error.message)
            end
            show_progress
          end
        end

        def throttle
          return unless @seconds_each

          due = @began_at + ((@account.delivered + @account.failed + @pending.size) * @seconds_each)
          while !@stopping && (left = due - Clock.now).positive?
            sleep([left, WAIT_SECONDS].min)
          end
        end

        def show_progress
          return if @options[:quiet] || !@err.respond_to?(:tty?) || !@err.tty? || Clock.now - (@shown_at || @began_at) < PROGRESS_SECONDS

          @shown_at = Clock.now
          @err.print("\r\e[K#{delivered}")
        end

        def delivered
          seconds = format("%.1f", Clock.now - @began_at)
          "#{Printable.count(@account.delivered, "message")} (#{@account.bytes} bytes) delivered to #{@topic} in #{seconds} s"
        end

        def conclude
          @err.print("\r\e[K") if @shown_at
          failed = @account.failed
          unless @options[:quiet] && failed.zero?
            empty = ", #{@account.empty} empty lines left out" if @account.empty.positive?
            @err.puts("guildhall: #{"interrupted: " if @interrupted}#{delivered}#{", #{failed} not delivered" if failed.positive?}#{empty}")
          end
          return 130 if @interrupted

          failed.zero? ? 0 : 1
        end
      end
    end
  end
end
