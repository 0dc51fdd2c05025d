# frozen_string_literal: true

require_relative "direct_listener"

module Guildhall
  module Kafka
    module Group
      # The members of a consumer group in this process that read the same topics: a listener each, as many as the route's
      # `multiplexing` says. Any thread.
      class Members
        attr_reader :group
        # @return [Array<Listener>] also those that are leaving the group
        attr_reader :listeners

        # @param before [Integer] how many other members this process may have in the group: names are numbered
        def initialize(topics, runtime, routes:, before: 0)
          @topics = topics
          @runtime = runtime
          @routes = routes
          @multiplexing = topics.first.multiplexing
          @group = topics.first.group
          @numbers = ((before + 1)..(before + @multiplexing.maximum)).to_a
          @listeners = @numbers.first(@multiplexing.minimum).map { |number| listener(number) }.freeze
          @scaling = Scaling.new(@multiplexing) if @multiplexing.elastic?
          @lock = Mutex.new
          @stopping = false
        end

        def start = @listeners.each(&:start)

        # The group has assigned partitions, if only none, to each member that there is in any case.
        def assigned? = @listeners.first(@multiplexing.minimum).all?(&:assigned?)

        # Measures the lag of all their partitions; where that asks for it, a member joins or leaves. Does not block.
        # @return [Array(Array<Hash{Symbol=>Object}>, Array<Hash{Symbol=>Object}>)] see {Partition::Lag#measure}, and the places of those
        #   whose lag is not known
        def measure_lag
          partitions = @listeners.flat_map(&:partitions)
          measured = partitions.to_h { |partition| [partition, partition.measure_lag] }
          lags = measured.values.compact
          seconds = lags.reject { |lag| lag[:paused] }.filter_map { |lag| lag[:seconds] }.max || 0.0
          adapt(seconds) if @scaling && @listeners.reject(&:leaving?).all? { |listener| listener.answers.any? }
          [lags, measured.select { |_, lag| lag.nil? }.keys.map(&:place)].map { |list| list.map { |one| one.merge(group: @group) } }
        end

        # Finishes the work in progress, commits and leaves the group. Does not block.
        def stop(deadline)
          @lock.synchronize do
            @stopping = true
            @listeners.each { |listener| listener.stop(deadline) }
          end
        end

        # Whether all have left the group in an orderly way.
        def join(deadline) = @listeners.map { |listener| listener.join(deadline) }.all?

        private

        def listener(number) = (@topics.first.assigned ? DirectListener : Listener).new(@topics, @runtime, routes: @routes, number:)

        def adapt(lag)
          change = @lock.synchronize do
            @listeners = @listeners.reject(&:ended?).freeze
            staying = @listeners.reject(&:leaving?)
            next if @stopping || staying.size < @listeners.size # one change at a time

            @scaling.change(staying.size, staying.sum { |one| one.partitions.size }, lag).tap { |one| change(one) }
          end
          return if change.nil? || change.zero?

          size = @listeners.count { |listener| !listener.leaving? }
          @runtime.publish("members.changed", group: @group, members: size, change:, seconds: lag)
        end

        def change(by)
          @listeners = [*@listeners, listener((@numbers - @listeners.map(&:number)).first).tap(&:start)].freeze if by.positive?
          @listeners.last.stop(Clock.now + @runtime.config.shutdown_timeout) if by.negative?
        end

        # Decides when a group gets a member more in this process, or one less: after it has been behind for some time, or has
        # been caught up for a longer time. Each change is a rebalance, so the time starts again with it. Used by one thread.
        class Scaling
          def initialize(multiplexing)
            @multiplexing = multiplexing
            @behind = @since = nil
          end

          # To be called whenever the lag was measured.
          # @param members [Integer] that there are now, with so many partitions: a member without one would read nothing
          # @param lag [Numeric] seconds, of the partition that is furthest behind
          # @return [Integer] 1, -1, or 0: as many as before
          def change(members, partitions, lag, now: Clock.now)
            behind = lag > @multiplexing.lag
            @since = now unless behind == @behind
            @behind = behind
            change = due(members, partitions, now - @since)
            @since = now unless change.zero?
            change
          end

          private

          def due(members, partitions, seconds)
            if @behind
              seconds >= @multiplexing.grow_after && members < [@multiplexing.maximum, partitions].min ? 1 : 0
            else
              seconds >= @multiplexing.shrink_after && members > @multiplexing.minimum ? -1 : 0
            end
          end
        end
      end
    end
  end
end
