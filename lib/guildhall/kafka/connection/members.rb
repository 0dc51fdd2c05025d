# frozen_string_literal: true

require_relative "direct_listener"
require_relative "scaling"

module Guildhall
  module Kafka
    module Connection
      # The members of a consumer group in this process that read the same topics: a listener each, as many as the route's
      # `multiplexing` says. Any thread.
      class Members
        # @return [String] the consumer group
        attr_reader :group
        # @return [Array<Listener>] also those that are leaving the group
        attr_reader :listeners

        # @param topics [Array<Routing::Topic>] of the same group and the same librdkafka settings
        # @param routes [Routing::GroupRoutes] of the whole group
        # @param before [Integer] how many other members this process may have in the group: names are numbered
        def initialize(topics, application, routes:, before: 0)
          @topics = topics
          @application = application
          @routes = routes
          @multiplexing = topics.first.multiplexing
          @group = topics.first.group
          @numbers = ((before + 1)..(before + @multiplexing.maximum)).to_a
          @listeners = @numbers.first(@multiplexing.minimum).map { |number| listener(number) }.freeze
          @scaling = Scaling.new(@multiplexing) if @multiplexing.elastic?
          @lock = Mutex.new
          @stopping = false
        end

        def start
          @listeners.each(&:start)
        end

        # @return [Boolean] whether the group has assigned partitions, if only none, to each member that there is in any case
        def assigned?
          @listeners.first(@multiplexing.minimum).all?(&:assigned?)
        end

        # Measures the lag of all their partitions; where that asks for it, a member joins or leaves. Does not block.
        # @return [Array(Array<Hash{Symbol=>Object}>, Array<Hash{Symbol=>Object}>)] see {Lag::PartitionLag#measure}, and the places of those
        #   whose lag is not known
        def measure_lag
          partitions = @listeners.flat_map(&:partitions)
          measured = partitions.to_h { |partition| [partition, partition.measure_lag] }
          lags = measured.values.compact
          adapt(furthest(lags)) if @scaling && @listeners.all? { |listener| listener.answers.any? }
          [lags, measured.select { |_, lag| lag.nil? }.keys.map(&:lag_place)].map { |list| list.map { |one| one.merge(group: @group) } }
        end

        # Finishes the work in progress, commits and leaves the group. Does not block.
        def stop(deadline)
          @lock.synchronize do
            @stopping = true
            @listeners.each { |listener| listener.stop(deadline) }
          end
        end

        # @return [Boolean] whether all have left the group in an orderly way
        def join(deadline)
          @listeners.map { |listener| listener.join(deadline) }.all?
        end

        private

        def listener(number)
          kind = @topics.first.assigned ? DirectListener : Listener
          kind.new(@topics, @application, routes: @routes, number:)
        end

        # @return [Numeric] seconds; 0.0 where nothing was read lately
        def furthest(lags)
          lags.reject { |lag| lag[:paused] }.filter_map { |lag| lag[:seconds] }.max || 0.0
        end

        # @param lag [Numeric] seconds
        def adapt(lag)
          change = @lock.synchronize do
            @listeners = @listeners.reject(&:ended?).freeze
            staying = @listeners.reject(&:leaving?)
            next if @stopping || staying.size < @listeners.size # one change at a time

            @scaling.change(staying.size, staying.sum { |one| one.partitions.size }, lag).tap { |one| change(one) }
          end
          return if change.nil? || change.zero?

          size = @listeners.count { |listener| !listener.leaving? }
          @application.publish("members.changed", group: @group, members: size, change:, seconds: lag)
        end

        def change(by)
          @listeners = [*@listeners, listener((@numbers - @listeners.map(&:number)).first).tap(&:start)].freeze if by.positive?
          @listeners.last.stop(Clock.now + @application.config.shutdown_timeout) if by.negative?
        end
      end
    end
  end
end
