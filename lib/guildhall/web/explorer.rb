# frozen_string_literal: true

require "guildhall/kafka/cli/message_codec"
require "guildhall/kafka/cli/moment"

module Guildhall
  class Web
    # One look at the messages of a topic, as a form asks for it: from a place on, or backwards from the end. It ends after so many
    # messages or seconds, says how much it has searched, and where it can be continued. Joins no group.
    # @api private
    class Explorer
      LIMIT = 50 # messages that are shown
      MESSAGES = 50_000 # that are searched
      BYTES = 256_000_000
      SECONDS = 10
      FIRST_WINDOW = 200 # offsets of a partition that are searched first, backwards; each window is GROWTH times as wide as the one before
      GROWTH = 4
      FROM = %w[newest earliest time offset].freeze
      CODECS = ["as the route", *Kafka::CLI::MessageCodec::NAMES].freeze
      private_constant :LIMIT, :MESSAGES, :BYTES, :SECONDS, :FIRST_WINDOW, :GROWTH

      # What was asked for. from: one of {FROM}; at: the time or the offset, nil with others; rest: where to continue, by partition, nil:
      # from the beginning.
      Form = Data.define(:from, :at, :partition, :key, :where, :codec, :rest) do
        # @param request [Request]
        def self.of(request)
          from = request.text("from") || (request.text("at") ? "time" : "newest")
          new(from:, at: request.text("at"), partition: request.text("partition")&.then { |text| Request.number("partition", text) },
            key: request.text("key"), where: request.text("where"), codec: request.text("codec"), rest: request.text("rest"))
        end

        # Whether not every message is shown.
        def narrowed? = !(key.nil? && where.nil?)
      end

      # What was found: newest first where it was read backwards. messages, bytes, seconds: what was searched; undecodable: how many of what
      # was found could not be compared; rest: for the form, nil: there is nothing left.
      Result = Data.define(:found, :messages, :bytes, :seconds, :undecodable, :rest)

      # A message that was found, without the message.
      Entry = Data.define(:partition, :offset, :time, :failed, :shown)
      private_constant :Entry

      # @param topic [Kafka::Admin::Topics::Topic] with offsets
      # @param hidden [Hidden] what is not searched
      def initialize(cluster, topic, form, hidden:, max_bytes: BYTES)
        @cluster = cluster
        @topic = topic
        @form = form
        @routed = cluster.decoded?(topic.name)
        @hidden = hidden
        @max_bytes = max_bytes
        @found = []
        @messages = @bytes = 0
      end

      # Blocks until something ends it.
      # @yieldparam found [Kafka::Broker::Search::Found]
      # @yieldreturn [Object] what is kept of it: messages may be large. Without a block: itself
      # @return [Result]
      # @raise [Guildhall::ArgumentError] for what the form cannot mean
      # @raise [Access::Refused] for a search in what is hidden
      def run(&show)
        @show = show || :itself.to_proc
        refuse_hidden
        refuse_place if @form.at && !%w[time offset].include?(@form.from)
        @began_at = Clock.now
        rest = @form.from == "newest" ? backwards : forwards
        Result.new(found: @found.map(&:shown), messages: @messages, bytes: @bytes, seconds: Clock.now - @began_at,
          undecodable: @found.count(&:failed),
          rest: (rest.map { |pair| pair.join(":") }.join(",") if rest.any?))
      end

      private

      def refuse_place
        raise Guildhall::ArgumentError,
          "from #{@form.from} nothing is looked for at #{@form.at.inspect}: choose time or offset, or leave it empty"
      end

      # Decoded in another way a payload would have its fields at other places.
      def refuse_hidden
        raise Access::Refused, "You may not search for a key: keys are hidden here." if @form.key && @hidden.key
        return unless @hidden.fields? && @routed && @form.codec && @form.codec != CODECS.first

        raise Access::Refused, "Fields of this topic are hidden: its payloads are only decoded as the route says."
      end

      def partitions = @partitions ||= @form.partition ? [@form.partition] : @topic.partitions.map(&:number)

      def forwards
        progress = search(@form.rest ? offsets(@form.rest) : start, limit: LIMIT) { |found| @found << entry(found) }
        progress.rest
      end

      def entry(found)
        record = found.record
        Entry.new(record.partition, record.offset, record.timestamp_ms || 0, !found.failure.nil?, @show.call(found))
      end

      def start
        case @form.from
        when "earliest" then :earliest
        when "offset", "time" then place
        else raise Guildhall::ArgumentError, "from is one of #{FROM.join(", ")}, not #{@form.from.inspect}"
        end
      end

      # @return [Integer, Time]
      def place
        text = @form.at or raise Guildhall::ArgumentError, "say at which #{@form.from}"
        found, taken = if @form.from == "offset" then [Integer(text, 10, exception: false), "a number"]
                       else [Kafka::CLI::Moment.time(text), Kafka::CLI::Moment::EXPLAINED]
                       end
        found || raise(Guildhall::ArgumentError, "#{@form.from} is #{taken}, not #{text.inspect}")
      end

      # In windows, the last one first, until there is enough to show. A window may use half of what is left to be searched: of one that is
      # too wide the partitions that were searched whole are shown, and if there is none, a narrower one is tried.
      # @return [Hash{Integer=>Integer}] by partition the offset before which nothing was searched
      def backwards
        begins = known(:begin)
        ends = @form.rest ? offsets(@form.rest) : known(:end)
        width = FIRST_WINDOW
        until ends.empty? || @found.size >= LIMIT || width.zero? || (exhausted? && (@found.any? || left <= 0))
          starts = ends.to_h { |number, last| [number, [last - width, begins.fetch(number, 0)].max] }
          window = []
          progress = search(starts, til: ends, share: 0.5) { |found| window << entry(found) }
          searched = progress.places.select(&:done?).map(&:number)
          @found.concat(newest_first(window.select { |entry| searched.include?(entry.partition) }))
          ends = ends.merge(starts.slice(*searched)).select { |number, last| last > begins.fetch(number, 0) }
          break unless progress.done? || @found.empty?

          width = progress.done? ? width * GROWTH : [width / GROWTH, width > 1 ? 1 : 0].max
        end
        # What was found beyond the limit is left for the next page.
        ends.merge(@found.slice!(LIMIT..).to_a.group_by(&:partition).transform_values { |some| some.map(&:offset).max + 1 })
      end

      # By time, but each partition by offset, whatever producers say of time: a page ends at one offset of each partition.
      def newest_first(window)
        window.group_by(&:partition).each_value.flat_map do |some|
          latest = 0
          some.map { |entry| [latest = [latest, entry.time].max, entry.offset, entry] }
        end.sort_by { |time, offset, _| [-time, -offset] }.map(&:last)
      end

      def known(which)
        found = @topic.partitions.select { |one| partitions.include?(one.number) }
        raise Guildhall::ArgumentError, "#{@topic.name} has no partition #{@form.partition}" if found.empty?

        found.select(&:offsets).to_h { |one| [one.number, one.offsets.public_send(which)] }
      end

      def exhausted? = @messages >= MESSAGES || @bytes >= @max_bytes || left <= 0
      def left = SECONDS - (Clock.now - @began_at)

      # At least a message is looked at.
      def portion(left, share) = (left * share).ceil.clamp(1..)

      # @param share [Float] of what is left to be searched
      def search(from, til: :end, limit: nil, share: 1.0, &)
        where = @form.where && @hidden.condition(@form.where)
        search = @cluster.search(@topic.name, from:, until: til, partitions: from.is_a?(Hash) ? nil : @form.partition, key: @form.key,
          all_partitions: true, where:, deserializer:, limit:, messages: portion(MESSAGES - @messages, share),
          bytes: portion(@max_bytes - @bytes, share), seconds: [left * share, 0.1].max, undecodable: @form.narrowed?, outages: true)
        progress = search.run(&)
        @messages += progress.messages
        @bytes += progress.bytes
        progress
      end

      # @return [#call, false, nil] nil: the route's; false: none
      def deserializer
        name = @form.codec || CODECS.first
        return (JSON unless @routed) if name == CODECS.first
        raise Guildhall::ArgumentError, "decode is one of #{CODECS.join(", ")}, not #{name.inspect}" unless CODECS.include?(name)

        Kafka::CLI::MessageCodec.of(name, nil) || false
      rescue Kafka::CLI::MessageCodec::NoRegistryError
        raise Guildhall::ArgumentError, "#{name} needs a schema registry, and this page knows none: set " \
                                        "#{Kafka::CLI::MessageCodec::REGISTRY} in its environment, or choose #{CODECS.first.inspect} " \
                                        "for a topic whose route has one"
      end

      def offsets(text)
        text.split(",").to_h { |pair| pair.split(":", 2).map { |number| Integer(number, 10) } }
      rescue ::ArgumentError
        raise Guildhall::ArgumentError, "rest is PARTITION:OFFSET,…, not #{text.inspect}"
      end
    end
  end
end
