# frozen_string_literal: true

require "guildhall/kafka/cli/message_codec"
require "guildhall/kafka/cli/moment"

module Guildhall
  class Web
    # One look at the messages of a topic, as a form asks for it: from a place on, or backwards from the end. It ends after so many
    # messages or seconds, says how much it has searched, and where it can be continued. Joins no group.
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
          new(from:, at: request.text("at"), partition: number(request, "partition"), key: request.text("key"),
            where: request.text("where"), codec: request.text("codec"), rest: request.text("rest"))
        end

        def self.number(request, name)
          text = request.text(name) or return
          Integer(text, 10)
        rescue ::ArgumentError
          raise Guildhall::ArgumentError, "#{name} is a number, not #{text.inspect}"
        end

        # Whether not every message is shown.
        def narrowed? = !(key.nil? && where.nil?)
      end

      # What was found: newest first where it was read backwards. messages, bytes, seconds: what was searched; undecodable: how many of what
      # was found could not be compared; rest: for the form, nil: there is nothing left.
      Result = Data.define(:found, :messages, :bytes, :seconds, :undecodable, :rest)

      # @param topic [Kafka::Admin::Topics::Topic] with offsets
      # @param routed [Boolean] whether a route says how its payloads are decoded
      def initialize(cluster, topic, form, routed:, max_bytes: BYTES)
        @cluster = cluster
        @topic = topic
        @form = form
        @routed = routed
        @max_bytes = max_bytes
        @found = []
        @messages = @bytes = 0
      end

      # Blocks until something ends it.
      # @return [Result]
      # @raise [Guildhall::ArgumentError] for what the form cannot mean
      def run
        @began_at = Clock.now
        rest = @form.from == "newest" ? backwards : forwards
        Result.new(found: @found, messages: @messages, bytes: @bytes, seconds: Clock.now - @began_at,
          undecodable: @found.count(&:failure),
          rest: (rest.map { |pair| pair.join(":") }.join(",") if rest.any?))
      end

      private

      def partitions = @partitions ||= @form.partition ? [@form.partition] : @topic.partitions.map(&:number)

      def forwards
        progress = search(@form.rest ? offsets(@form.rest) : start, limit: LIMIT) { |found| @found << found }
        progress.rest
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
          progress = search(starts, til: ends, share: 0.5) { |found| window << found }
          searched = progress.places.select(&:done?).map(&:number)
          @found.concat(newest_first(window.select { |found| searched.include?(found.record.partition) }))
          ends = ends.merge(starts.slice(*searched)).select { |number, last| last > begins.fetch(number, 0) }
          break unless progress.done? || @found.empty?

          width = progress.done? ? width * GROWTH : [width / GROWTH, width > 1 ? 1 : 0].max
        end
        # What was found beyond the limit is left for the next page.
        ends.merge(@found.slice!(LIMIT..).to_a.group_by { |found| found.record.partition }
          .transform_values { |some| some.map { |found| found.record.offset }.max + 1 })
      end

      # By time, but each partition by offset, whatever producers say of time: a page ends at one offset of each partition.
      def newest_first(window)
        window.group_by { |found| found.record.partition }.each_value.flat_map do |some|
          latest = 0
          some.map { |found| [latest = [latest, found.record.timestamp_ms || 0].max, found.record.offset, found] }
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
        search = @cluster.search(@topic.name, from:, until: til, partitions: from.is_a?(Hash) ? nil : @form.partition, key: @form.key,
          all_partitions: true, where: @form.where, deserializer:, limit:, messages: portion(MESSAGES - @messages, share),
          bytes: portion(@max_bytes - @bytes, share), seconds: [left * share, 0.1].max, undecodable: @form.narrowed?)
        progress = search.run(&)
        @messages += progress.messages
        @bytes += progress.bytes
        progress
      end

      # @return [#call, false, nil] nil: the route's; false: none
      def deserializer
        name = @form.codec
        return Kafka::CLI::MessageCodec.of(name, nil) || false if name && name != CODECS.first

        JSON unless @routed
      end

      def offsets(text)
        text.split(",").to_h { |pair| pair.split(":", 2).map { |number| Integer(number, 10) } }
      rescue ::ArgumentError
        raise Guildhall::ArgumentError, "rest is PARTITION:OFFSET,…, not #{text.inspect}"
      end
    end
  end
end
