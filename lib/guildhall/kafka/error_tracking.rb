# frozen_string_literal: true

require "digest"
require "json"
require "guildhall/option_rules"
require "guildhall/soft_dependency"
require_relative "error_tracking/failures"

module Guildhall
  module Kafka
    # Tells an error tracker, or an APM, of errors: once for each failure, not for each retry, with the place of the message and without its
    # payload. Middleware around consumers, for what they raise; a subscriber to `error.occurred`, for everything else. Not loaded unless it
    # is used.
    #
    #     Guildhall::Kafka::ErrorTracking.start(:sentry) # or :appsignal, :datadog, :honeybadger, :new_relic, or an object with `report`
    class ErrorTracking
      REPORTED = :@__guildhall_reported
      BY_RAILS = :@__rails_error_reported # Rails.error and the executor leave alone what has it
      private_constant :REPORTED, :BY_RAILS

      # @param tracker [Symbol, #report] one that is known, or an object with `report(error, context)`, and perhaps `trace(call, handler) {
      #   … }`, which yields once, and `produce(message)`, a step of `config.producer_middleware`
      # @raise [MissingDependencyError] without the vendor's gem
      # @raise [Guildhall::ArgumentError] for another tracker
      def self.start(tracker, application = Kafka.application)
        require_relative "error_tracking/vendors" if tracker.is_a?(Symbol)
        tracker = Vendors.of(tracker) if tracker.is_a?(Symbol)
        unless tracker.respond_to?(:report)
          raise Guildhall::ArgumentError, "an error tracker has report(error, context), #{tracker.class} has not"
        end

        new(tracker, application).tap do |tracking|
          application.config.middleware << tracking
          application.config.producer_middleware << tracker.method(:produce) if tracker.respond_to?(:produce)
          application.instrumentation.subscribe("error.occurred") { |event| tracking.heard(event.payload) }
        end
      end

      def initialize(tracker, application)
        @tracker = tracker
        @application = application
        @failures = Failures.new
        @traces = tracker.respond_to?(:trace)
      end

      # @!visibility private
      # Middleware. A batch of jobs is no call of its own: each of its jobs is.
      def call(call, &)
        return yield if !call.consuming? || (call.event == :consume && job?(call))
        return watch(call, &) unless @traces

        @tracker.trace(call, ErrorTracking.handler(call)) { watch(call, &) }
      end

      # @!visibility private
      # @param event [Hash{Symbol=>Object}] the payload of `error.occurred`
      def heard(event)
        error = event[:error]
        return if error.instance_variable_defined?(REPORTED)

        context = event.except(:error, :message)
        tell(error, context) if @application.config.attempts_of_errors? || @failures.first?(error, context)
      end

      # @return [String] what has failed, as trackers group it: "OrdersConsumer#consume", or of a job "WelcomeJob#perform"
      def self.handler(call)
        job = ::JSON.parse(call.messages.first.raw_payload)["job_class"] if call.event == :perform
        "#{job || call.topic.consumer.name}##{call.event}"
      rescue ::JSON::ParserError, TypeError, NoMethodError # it is no job at all
        "#{call.topic.consumer.name}##{call.event}"
      end

      private

      def job?(call) = Kafka.const_defined?(:ActiveJob, false) && call.topic.consumer <= ActiveJob::Consumer

      def watch(call)
        yield
      rescue Exception => error # rubocop:disable Lint/RescueException -- what ends a thread is a failure, too
        context = call.failure(error)
        headers = call.record(context[:offset] || context[:first_offset])&.headers if call.topic.retry_topic?
        first = @failures.first?(error, context, headers)
        if first || @application.config.attempts_of_errors?
          tell(error, {**context, handler: ErrorTracking.handler(call)})
        else
          mark(error)
        end
        raise
      end

      # Whatever becomes of the report, the error goes on.
      def tell(original, context)
        shown = Redaction.copy(original, messages: @application.config.messages_of_errors?)
        mark(original)
        @tracker.report(shown, {**context, release: @application.config.release_name}.compact)
      rescue StandardError, ScriptError => error
        warn("guildhall: #{@tracker.class} raised #{error.class}: #{Redaction.message(error)}")
      end

      def mark(error) = error.frozen? || [REPORTED, BY_RAILS].each { |name| error.instance_variable_set(name, true) }
    end
  end
end
