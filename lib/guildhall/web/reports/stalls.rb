# frozen_string_literal: true

require "guildhall/kafka/reporting/attention"

module Guildhall
  class Web
    class Reports
      # Where partitions have stalled, as events say. A partition that its group has given anew begins to be watched anew, wherever: its
      # report does not say that it has stood there before, so that is added to it here.
      class Stalls
        MAX = 1_000
        KEEP_SECONDS = 3_600
        # since, at: when the first event and the last one came.
        Stall = Struct.new(:position, :since, :at, :tried)
        private_constant :MAX, :KEEP_SECONDS, :Stall

        def initialize
          @stalls = {}
        end

        # @param event [Store::Event] with the name "stalled"
        def add(event)
          place = event.record.values_at("group", "topic", "partition")
          position = event.record["position"]
          stall = @stalls[place]
          stall = nil unless stall&.position == position
          return if stall.nil? && @stalls.size >= MAX

          stall ||= @stalls[place] = Stall.new(position, event.at, event.at, [])
          stall.since = [stall.since, event.at].min
          stall.at = [stall.at, event.at].max
          stall.tried |= [*event.record["action"]]
        end

        # @param report [Hash] of kind "state", which is changed
        # @param at [Float] when the broker got it
        def note(report, at)
          return if @stalls.empty?

          (report["topics"] || []).each do |topic|
            topic["partitions"].each { |row| note_row(row, [topic["group"], topic["topic"], row["partition"]], at) }
          end
        end

        private

        def note_row(row, place, at)
          stall = @stalls[place]
          return if stall.nil? || at < stall.since
          return @stalls.delete(place) if moved?(row, stall) || at - stall.at > KEEP_SECONDS
          return unless row["state"] == "stalled" || Kafka::Reporting::Attention::USUAL.include?(row["state"])

          own = row["stalled"]
          row["state"] = "stalled"
          row["stalled"] = {"position" => stall.position, "since" => [at - stall.since, *own&.fetch("since")].max,
                            "tried" => stall.tried | [*own&.fetch("tried")]}.compact
        end

        # Before it has read anything where it is assigned now, it has no position.
        def moved?(row, stall) = row["position"] ? row["position"] != stall.position : row["lag"]&.zero?
      end
    end
  end
end
