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
        PREVIEW_NODES = 100
        KEY = 80
        private_constant :PREVIEW, :START, :PREVIEW_NODES, :KEY

        private

        # @param found [Kafka::Broker::Search::Found]
        # @param shown [Boolean] whether its key and payload may be shown, but for what is hidden from everybody
        def message_row(found, shown)
          record = found.record
          row = {topic: record.topic, partition: record.partition, offset: record.offset, time: time(record.timestamp),
                 bytes: record.raw_payload&.bytesize, tombstone: record.tombstone?, error: found.failure && reason(found.failure, shown)}
          return row unless shown

          {**row, key: key(record.key), preview: preview(found)}
        end

        # @return [Hidden] of the page's topic
        def hidden = @web.hidden(names.fetch(:topic))

        # An error's message may quote the payload.
        def reason(failure, shown)
          shown && !hidden.fields? ? Kafka::CLI::MessageFormat.reason(failure) : failure.exception.class.name
        end

        # @param bytes [String, nil]
        def key(bytes) = bytes && (hidden.key ? Hidden::TEXT : Printable.words(Printable.utf8(bytes.b), KEY))

        def preview(found)
          bytes = found.record.raw_payload or return
          return visible(found, PREVIEW_NODES)&.line.then { |line| line ? Printable.words(line, PREVIEW) : Hidden::TEXT } if hidden.fields?

          text = bytes.byteslice(0, START).force_encoding(Encoding::UTF_8)
          # What was cut may end amid a character.
          text = text.valid_encoding? || text[0...-1].valid_encoding? ? text.scrub : nil
          return Printable.words(text, PREVIEW) if text&.match?(/\A\s*[\[{]/)

          Printable.words(decoded(found) || text || Printable.bytes(bytes, PREVIEW), PREVIEW)
        end

        # @return [JSONText, nil] what is left of a payload where fields are hidden; nil: they cannot be told apart
        def visible(found, nodes = JSONText::NODES)
          return if found.payload.nil? || found.record.raw_payload.bytesize > Message::MAX_BYTES

          text = hidden.text(found.payload)
          JSONText.new(text, hidden, nodes:) if text
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

          result = Explorer.new(cluster, topic, form, hidden:).run { |found| message_row(found, shown) }
          {topic: topic.name, partitions: topic.partitions.size, form: form.to_h, narrowed: form.narrowed?, shown:, hidden: hidden.entries,
           from: Explorer::FROM, codecs: Explorer::CODECS,
           rows: result.found, messages: result.messages,
           bytes: result.bytes, seconds: result.seconds.round(2), undecodable: result.undecodable, rest: result.rest}
        end
      end

      # One message of a topic, that the path names.
      class OneMessage < Page
        include MessageRows

        def private? = true

        private

        def crumbs
          topic = names.fetch(:topic)
          {"Topics" => ["topics"], topic => ["topics", topic], "messages" => ["topics", topic, "messages"]}
        end

        def title = "#{names.fetch(:topic)}/#{partition}@#{offset}"
        def live? = false
        def partition = @request.number(:partition)
        def offset = @request.number(:offset)

        # @return [Kafka::Broker::Search::Found, nil]
        def find
          topic = names.fetch(:topic)
          search = cluster.search(topic, from: {partition => offset}, until: offset + 1, limit: 1, seconds: 10, outages: true,
            deserializer: (JSON if hidden.fields? && !cluster.decoded?(topic)))
          found = nil
          search.run { |one| found = one }
          found
        end
      end

      # One message, and what became of it in each group.
      class Message < OneMessage
        MAX_BYTES = 256_000
        HEADERS = 100
        private_constant :HEADERS

        private

        def data
          topic = names.fetch(:topic)
          found = find
          shown = payloads?(topic)
          {topic:, partition:, offset:, found: !found.nil?, shown:, hidden: hidden.entries, **(found ? whole_message(found, shown) : {}),
           groups: groups(topic).map { |group| {name: group, **fate(group, topic)} }}
        end

        def whole_message(found, shown)
          row = message_row(found, shown)
          return row unless shown

          {**row, payload: nil, note: nil, **payload(found), headers: headers(found.record.headers), source: nil, **source(found.record)}
        end

        def source(record)
          letter = Kafka::DeadLetterQueue::DeadLetter.from(record)
          letter = letter.with(headers: letter.headers.reject { |name, _| hidden.header?(name) })
          letter.source_topic ? {source: letter.source, source_error: letter.error} : {}
        end

        # @return [Hash{Symbol=>String}] what of it is shown, and a note where that is not all
        def payload(found)
          bytes = found.record.raw_payload or return {}
          return {note: "It is too large to be shown here."} if bytes.bytesize > MAX_BYTES

          json, text = hidden.fields? ? visible(found) : plain(found, bytes)
          shown = json ? json.lines : text
          return {note: "It is hidden: it was not decoded, so that its hidden fields cannot be told apart."} unless shown
          return {note: "It is too large to be shown here."} if shown.bytesize > 4 * MAX_BYTES

          {payload: Printable.lines(shown), note: ("These are its first #{JSONText::NODES} values." if json&.cut?)}
        end

        # @return [Array(JSONText, String)] one of them
        def plain(found, bytes)
          text = bytes.dup.force_encoding(Encoding::UTF_8) if Kafka::CLI::MessageFormat::Text.readable?(bytes)
          # Of JSON every character is shown as it was written; the bytes of other codecs may happen to be text.
          json = text && JSONText.it?(text) ? text : decoded(found)
          json && JSONText.it?(json) ? [JSONText.new(json, hidden), nil] : [nil, text || json || Printable.bytes(bytes, MAX_BYTES)]
        end

        def headers(all)
          some = all.flat_map { |name, values| (values.is_a?(Array) ? values : [values]).map { |value| [name, value] } }
          shown = some.first(HEADERS).map { |name, value| {name: Printable.words(Printable.utf8(name), 200), value: header(name, value)} }
          some.size > HEADERS ? [*shown, {name: "…", value: "and #{some.size - HEADERS} more"}] : shown
        end

        def header(name, value)
          return Hidden::TEXT if hidden.header?(name)

          value && Printable.words(Printable.utf8(value.b), 2_000)
        end

        # @return [Array<String>] the application's, that consume the topic
        def groups(topic) = cluster.routes_of(topic).map(&:group).uniq

        # What became of it: by what the group has committed.
        def fate(group, topic)
          row = cluster.offsets(group, topic).find { |one| one.partition == partition }
          return {kind: "idle", word: "not known", why: "the group has committed nothing in this partition"} unless row&.committed
          return {kind: "ok", word: "done", why: "the group has committed offset #{row.committed}"} if offset < row.committed
          return {kind: "ok", word: "done", why: "before earlier messages that are not"} if row.done.any? { |range| range.cover?(offset) }
          if row.passed_over.any? { |range| range.cover?(offset) }
            return {kind: "warn", word: "not done", why: "later messages are, this one is parked with its key, or in work"}
          end

          before = offset - row.committed - row.done.sum(&:size)
          earlier = Printable.count(before, "message before it is", "messages before it are")
          why = before.zero? ? "it is the next one" : "#{earlier} not done, either"
          {kind: "idle", word: "not yet", why:}
        end
      end

      # A message's payload as a file, byte for byte.
      class Payload < OneMessage
        def answer
          name = "#{names.fetch(:topic)}-#{partition}-#{offset}".gsub(/[^\w.-]/, "_")
          [@bytes, {"content-type" => "application/octet-stream", "content-disposition" => %(attachment; filename="#{name}.bin")}]
        end

        private

        def data
          @web.access.check!(@request, :payload, names.fetch(:topic))
          raise Access::Refused, "Fields of this topic are hidden: its payloads are not given as they are." if hidden.fields?

          @bytes = find&.record&.raw_payload or
            raise Guildhall::ArgumentError, "There is no payload at this offset: a tombstone, or a message that is gone or still to come."
          {}
        end
      end
    end
  end
end
