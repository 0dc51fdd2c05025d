# frozen_string_literal: true

module Guildhall
  class Web
    class Reports
      # Errors with the same fingerprint: of one type, class and place.
      class Cause
        BUCKET_SECONDS = 600
        BUCKETS = 144 # a day
        RECENT_SECONDS = 600 # what concerns somebody who looks now
        SAMPLES = 10
        NAMES = 50 # of groups, topics, processes and releases
        Sample = Data.define(:topic, :partition, :offset, :at, :attempt, :message, :process)
        private_constant :BUCKET_SECONDS, :BUCKETS, :SAMPLES, :NAMES

        attr_reader :fingerprint, :count, :first, :last, :record, :release

        def initialize(fingerprint)
          @fingerprint = fingerprint
          @count = 0
          @counts = {}
          @minutes = {} # of the last {RECENT_SECONDS}
          @samples = []
          @names = {apps: {}, places: {}, processes: {}, releases: {}}
        end

        # @param record [Hash] of kind "error"
        # @param at [Float] when the broker got it
        def add(record, at)
          count = [record["count"] || 1, 1].max
          @release = record["release"] if @first.nil? || at < @first
          @first = [@first, at].compact.min
          @record = record if @last.nil? || at >= @last
          @last = [@last, at].compact.max
          @count += count
          bucket = (at / BUCKET_SECONDS).floor
          @counts[bucket] = @counts.fetch(bucket, 0) + count
          @counts.delete(@counts.keys.min) if @counts.size > BUCKETS
          minute = (at / 60).floor
          @minutes[minute] = @minutes.fetch(minute, 0) + count
          @minutes.delete_if { |number, _| number <= (@last - RECENT_SECONDS) / 60 }
          note(record, at)
        end

        # @return [Integer] errors in the last ten minutes, to within a minute
        def recent(now) = @minutes.sum { |minute, count| minute > (now - RECENT_SECONDS) / 60 ? count : 0 }

        # Whether it says nothing about the message: it is repeated for as long as it lasts.
        def outage? = @record["outage"] == true

        # @return [Integer] errors since a moment, to within ten minutes
        def since(time) = @counts.sum { |bucket, count| bucket >= (time / BUCKET_SECONDS).floor ? count : 0 }

        # @return [Hash{String=>Array<Integer>}] the last day
        def series(now)
          last = (now / BUCKET_SECONDS).floor
          numbers = [*(last - BUCKETS + 1)..last]
          {"at" => numbers.map { |number| number * BUCKET_SECONDS }, "errors" => numbers.map { |number| @counts.fetch(number, 0) }}
        end

        def samples = @samples.reverse
        def apps = @names[:apps].keys
        def places = @names[:places].keys
        def processes = @names[:processes].keys
        def releases = @names[:releases].keys

        private

        def note(record, at)
          {apps: record["app"], places: record.values_at("group", "topic"), processes: record["process"],
           releases: record["release"]}.each do |kind, name|
            names = @names.fetch(kind)
            names[name] = true if name && name != [nil, nil] && (names.size < NAMES || names.key?(name))
          end
          return unless record["topic"] && record["offset"]

          sample = Sample.new(topic: record["topic"], partition: record["partition"].to_i, offset: record["offset"], at:,
            attempt: record["attempt"], message: record["message"], process: record["process"])
          @samples.delete_if { |one| one.topic == sample.topic && one.partition == sample.partition && one.offset == sample.offset }
          @samples << sample
          @samples.shift if @samples.size > SAMPLES
        end
      end
    end
  end
end
