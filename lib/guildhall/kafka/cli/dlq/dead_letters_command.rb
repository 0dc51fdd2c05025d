# frozen_string_literal: true

require_relative "../application_command"

module Guildhall
  module Kafka
    module CLI
      class Dlq < Guildhall::CLI::Command
        # The base of both commands: options that select dead letters.
        class DeadLettersCommand < ApplicationCommand
          def self.command_name = "dlq #{super}"

          private

          def define_options(options)
            super
            options.on("-t", "--topic NAME", "the dead letter topic (default: those in the routes)")
            options.on("--partition N", Integer, "only this partition of it")
            options.on("--offsets RANGE", "only these: 7, 7..12, 7.. or ..12, by their offsets in the dead letter topic")
            options.on("--source TOPIC", "only dead letters from this topic")
            options.on("--group NAME", "only dead letters of this consumer group")
            options.on("--error CLASS", "only dead letters with this error class")
          end

          def call(arguments)
            bounds if @options[:offsets] # before a broker is asked
            super
          end

          # The topic is an option, because the default is all of them.
          def refuse(argument)
            raise Guildhall::ArgumentError, "unexpected argument: #{argument}; to name a dead letter topic: --topic #{argument} #{see_help}"
          end

          # If a topic cannot be queried, the others are, all the same.
          # @return [Integer] the exit status
          def each_topic
            names = topics
            problems = names.flat_map do |name|
              next [] if @interrupted

              Kafka.application.dead_letters(name) do |dead_letters|
                yield dead_letters
                dead_letters.problems
              end
            rescue UnreachableError
              raise
            rescue KafkaError, UnknownTopicError => error
              raise if names.one?

              Broker::Problem.new(group: nil, topic: name, partitions: nil, error:)
            end
            report(problems)
          end

          def topics
            return [@options[:topic]] if @options[:topic]

            routed = Kafka.application.validate!.filter_map { |route| route.dead_letter_queue&.topic || nil }.uniq
            return routed if routed.any?

            raise Guildhall::ArgumentError, "no route has a dead letter queue with a topic: name one with --topic"
          end

          # @return [Hash{Integer=>Range<Integer>}] by partition
          def chosen_ranges(dead_letters)
            number = @options[:partition]
            unless number.nil? || number.between?(0, dead_letters.partition_count - 1)
              raise Guildhall::ArgumentError, "#{dead_letters.name} has no partition #{number}: it has #{dead_letters.partition_count}"
            end

            ranges = dead_letters.ranges(*number)
            return ranges unless @options[:offsets]

            first, last = bounds
            ranges.transform_values do |range|
              from = [first || range.begin, range.begin].max
              from...(last ? last + 1 : range.end).clamp(from, [range.end, from].max)
            end
          end

          # @return [Array(Integer, Integer)] nil for an open end
          def bounds
            text = @options[:offsets]
            match = /\A(?<first>\d+)?(?<dots>\.\.)?(?<last>\d+)?\z/.match(text)
            numbers = match&.values_at(:first, :last)&.map { |number| number && Integer(number, 10) }
            raise Guildhall::ArgumentError, "--offsets takes 7, 7..12, 7.. or ..12, not #{text.inspect}" unless numbers&.any?

            match[:dots] ? numbers : [numbers.first, numbers.first]
          end

          def filtered? = !!(@options[:source] || @options[:group] || @options[:error])

          def wanted?(dead_letter)
            {source: dead_letter.source_topic, group: dead_letter.source_group, error: dead_letter.error_class}
              .all? { |name, value| @options[name].nil? || @options[name] == value }
          end
        end
      end
    end
  end
end
