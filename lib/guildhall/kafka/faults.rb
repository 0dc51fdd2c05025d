# frozen_string_literal: true

module Guildhall
  module Kafka
    # Collects what is wrong with configuration and routes, so that all of it is told at once.
    class Faults
      def initialize
        @messages = []
      end

      # @param message [String]
      # @return [void]
      def add(message)
        @messages << message unless @messages.include?(message)
      end

      # @param name [#to_s] what was written
      # @param dictionary [Array<#to_s>] what could have been meant
      # @return [String] "; did you mean NAME?", or nothing
      def self.suggestion(name, dictionary)
        found = DidYouMean::SpellChecker.new(dictionary: dictionary.map(&:to_s)).correct(name.to_s).first
        found ? "; did you mean #{found}?" : ""
      end

      # @return [Boolean]
      def any?
        @messages.any?
      end

      # @return [Array<String>]
      def to_a
        @messages.dup
      end

      # @return [void]
      # @raise [ConfigurationError] listing all of them, when there are some
      def raise!
        return unless any?

        noun = @messages.size == 1 ? "fault" : "faults"
        raise ConfigurationError, "#{@messages.size} #{noun} in the configuration of Kafka:\n" +
                                  @messages.map { |message| "  - #{message}" }.join("\n")
      end
    end
  end
end
