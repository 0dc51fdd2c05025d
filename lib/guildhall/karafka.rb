# frozen_string_literal: true

require "guildhall"
require "guildhall/soft_dependency"
require_relative "karafka/settings"
require_relative "karafka/envelope"
require_relative "karafka/signature"
require_relative "karafka/adapted"
require_relative "karafka/deserializer"
require_relative "karafka/subscription"
require_relative "karafka/plugin"

module Guildhall
  # Parallel deserialization for applications that run on the gem karafka: payloads of a batch are decoded in worker Ractors as
  # soon as the batch is fetched. Consumers stay as they are.
  #
  #     class KarafkaApp < Karafka::App
  #       routes.draw do
  #         topic :events do
  #           consumer EventsConsumer
  #           deserializer Guildhall::Karafka.parallel(Guildhall::JSON)
  #         end
  #       end
  #     end
  #
  # Everything here belongs to the main Ractor and may be called by any of its threads.
  module Karafka
    @plugin = Plugin.new

    class << self
      # Changes settings; what is not assigned becomes its default again. Optional, in any order with the application's own
      # set-up and routes.
      # @yieldparam config [Settings] see there
      # @return [Settings] frozen
      # @raise [ConfigurationError] listing everything that is wrong; the settings before stay then
      def setup
        settings = Settings.new
        yield settings if block_given?
        @plugin.settings = settings.validate!.freeze
      end

      # @return [Settings] frozen
      def config
        @plugin.settings
      end

      # Makes a deserializer for Karafka's routes (`deserializer`, `deserializers(payload: …)`, also in `defaults`).
      # @param deserializer [#call] a codec, a pipeline, or any other shareable object with `call(payload)` or
      #   `call(payload, metadata)`; metadata is an {Envelope}
      # @param message [Boolean] true: it takes a message, as Karafka's own deserializers do: `call(message)`. That is an
      #   {Envelope}, which has the readers of Karafka's messages
      # @raise [Guildhall::ArgumentError] for one that is parallel already, and for what cannot be called that way
      # @raise [NotShareableError] naming the path to what workers cannot share
      # @raise [IsolationError] naming what a worker may not touch, and what to change
      # @raise [ConfigurationError] where Karafka's monitor has a bus that passes no events on
      # @raise [MissingDependencyError] without the gem karafka
      def parallel(deserializer, message: false)
        SoftDependency.require!("karafka", gem: "karafka", purpose: "Guildhall::Karafka") unless defined?(::Karafka::App)
        raise Guildhall::ArgumentError, "#{deserializer.inspect} is parallel already; use it as it is" if deserializer.is_a?(Deserializer)

        Signature.check!(deserializer, message)
        Deserializer.new(message ? Adapted.new(deserializer) : deserializer, @plugin).tap { @plugin.subscribe }
      end

      # @return [Guildhall::Pool] where payloads are decoded: one of its own with `config.concurrency`, else {Guildhall.pool}
      def pool
        @plugin.pool
      end

      # @return [Hash{Symbol=>Integer}] payloads since the process began: `dispatched` to the pool, `taken` from it by
      #   consumers, decoded `in_place`, and `replaced`: dispatched, but changed before they were read
      def stats
        @plugin.stats
      end
    end
  end
end
