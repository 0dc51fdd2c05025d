# frozen_string_literal: true

require "guildhall/kafka/cli/message_format"
require_relative "failure"

module Guildhall
  class Web
    module Pages
      # A message as pages show it.
      module MessageRows
        PREVIEW = 300 # characters
        START = 4 * PREVIEW # bytes
        KEY = 80
        private_constant :PREVIEW, :START, :KEY

        private

        # @param found [Kafka::Broker::Search::Found]
        # @param shown [Boolean] whether its key and payload may be shown
        def message_row(found, shown)
          record = found.record
          row = {topic: record.topic, partition: record.partition, offset: record.offset, time: time(record.timestamp),
                 bytes: record.raw_payload&.bytesize, tombstone: record.tombstone?, error: found.failure && reason(found.failure, shown)}
          return row unless shown

          {**row, key: key(record.key), preview: preview(found)}
        end

        # An error's message may quote the payload.
        def reason(failure, shown) = shown ? Kafka::CLI::MessageFormat.reason(failure) : failure.exception.class.name

        # @param bytes [String, nil]
        def key(bytes) = bytes && Printable.words(Printable.utf8(bytes.b), KEY)

        def preview(found)
          bytes = found.record.raw_payload or return
          text = bytes.byteslice(0, START).force_encoding(Encoding::UTF_8)
          # What was cut may end amid a character.
          return Printable.words(text.scrub, PREVIEW) if text.valid_encoding? || text[0...-1].valid_encoding?

          Printable.words(decoded(found) || Printable.bytes(bytes, PREVIEW), PREVIEW)
        end

        # @return [String, nil] as JSON; nil: it is none, or has no form in JSON
        def decoded(found)
          JSON.encode(found.payload) unless found.payload.nil? || found.payload.is_a?(String)
        rescue EncodeError
          nil
        end
      end

      # Messages of a topic: the explorer.
      class Messages < Page
        include MessageRows

        def private? = true

        private

        def crumbs = {"Topics" => ["topics"], names.fetch(:topic) => ["topics", names.fetch(:topic)]}
        def title = "#{names.fetch(:topic)}: messages"
        def live? = false

        def data
          topic = cluster.topic(names.fetch(:topic))
          form = Explorer::Form.of(@request)
          shown = payloads?(topic.name)
          raise Access::Refused, "You may not search in payloads or keys." if form.narrowed? && !shown

          result = Explorer.new(cluster, topic, form, routed: routed?(topic.name)).run
          {topic: topic.name, partitions: topic.partitions.size, form: form.to_h, narrowed: form.narrowed?, shown:, from: Explorer::FROM,
           codecs: Explorer::CODECS, rows: result.found.map { |found| message_row(found, shown) }, messages: result.messages,
           bytes: result.bytes, seconds: result.seconds.round(2), undecodable: result.undecodable, rest: result.rest}
        end

        def routed?(name) = cluster.routes_of(name).any?(&:deserializer)
      end

      # One message, and what became of it in each group.
      class Message < Page
        include MessageRows

        MAX_BYTES = 256_000
        private_constant :MAX_BYTES

        def private? = true

        private

        def crumbs
          topic = names.fetch(:topic)
          {"Topics" => ["topics"], topic => ["topics", topic], "messages" => ["topics", topic, "messages"]}
        end

        def title = "#{names.fetch(:topic)}/#{partition}@#{offset}"
        def live? = false
        def partition = number(:partition)
        def offset = number(:offset)

        def number(name)
          text = names.fetch(name)
          Integer(text, 10, exception: false) || raise(Guildhall::ArgumentError, "#{name} is a number, not #{text.inspect}")
        end

        def data
          topic = names.fetch(:topic)
          found = find(topic)
          shown = payloads?(topic)
          {topic:, partition:, offset:, found: !found.nil?, shown:, **(found ? whole_message(found, shown) : {}),
           groups: groups(topic).map { |group| {name: group, **fate(group, topic)} }}
        end

        def find(topic)
          search = cluster.search(topic, from: {partition => offset}, until: offset + 1, limit: 1, seconds: 10)
          found = nil
          search.run { |one| found = one }
          found
        end

        def whole_message(found, shown)
          row = message_row(found, shown)
          return row unless shown

          letter = Kafka::DeadLetterQueue::DeadLetter.from(found.record)
          source = {source: letter.source, source_error: letter.error} if letter.source_topic
          {**row, payload: payload(found), headers: headers(found.record.headers), source: nil, **source.to_h}
        end

        def payload(found)
          bytes = found.record.raw_payload or return
          return "#{bytes.bytesize} bytes: too many to be shown" if bytes.bytesize > MAX_BYTES

          Kafka::CLI::MessageFormat::Text.readable?(bytes) ? pretty(bytes) : decoded(found) || Printable.bytes(bytes, MAX_BYTES)
        end

        # JSON with a line for each value.
        def pretty(bytes)
          text = bytes.dup.force_encoding(Encoding::UTF_8)
          return text unless text.match?(/\A\s*[\[{]/)

          require "json"
          ::JSON.pretty_generate(::JSON.parse(text, max_nesting: 100))
        rescue ::JSON::ParserError, ::JSON::NestingError, ::JSON::GeneratorError
          text
        end

        def headers(all)
          all.flat_map do |name, values|
            name = Printable.words(Printable.utf8(name), 200)
            (values.is_a?(Array) ? values : [values]).map do |value|
              {name:, value: value && Printable.words(Printable.utf8(value.b), 2_000)}
            end
          end
        end

        # @return [Array<String>] the application's, that consume the topic
        def groups(topic) = cluster.routes_of(topic).map(&:group).uniq

        # What became of it: by what the group has committed.
        def fate(group, topic)
          row = cluster.offsets(group, topic).find { |one| one.partition == partition }
          return {kind: "idle", word: "not known", why: "the group has committed nothing in this partition"} unless row&.committed
          return {kind: "ok", word: "done", why: "all offsets before #{row.committed} are"} if offset < row.committed
          return {kind: "ok", word: "done", why: "although earlier messages are not"} if row.done.any? { |range| range.cover?(offset) }
          if row.passed_over.any? { |range| range.cover?(offset) }
            return {kind: "warn", word: "passed over", why: "later messages are done: its key waits, or it is at work"}
          end

          {kind: "idle", word: "not yet", why: "#{offset - row.committed} before it"}
        end
      end
    end
  end
end
