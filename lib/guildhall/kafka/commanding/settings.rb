# frozen_string_literal: true

require_relative "../settings/rules"
require_relative "command"

module Guildhall
  module Kafka
    module Commanding
      # What `config.commands` says. key: [OpenSSL::PKey::PKey, nil] that checks signatures, nil: unsigned commands are taken.
      Settings = Data.define(:key, :allow, :topic) do
        # @param given [Hash{Symbol=>Object}]
        # @return [String, nil] what is wrong with it, without any value: a private key may have been given by mistake
        def self.problem(given)
          return "must be a Hash, such as #{Settings::EXAMPLE}" unless given.is_a?(Hash)

          unknown = given.keys - Settings::NAMES
          problems = unknown.map { |name| OptionRules.unknown("setting #{name}", name, Settings::NAMES) }
          problems += [*Settings.key_problem(given), *Settings.allow_problem(given.fetch(:allow, Settings::ALLOWED))]
          problems += [*Kafka::Settings::Rules::TOPIC_NAME.problem(given.fetch(:topic, TOPIC))&.then { "topic #{it}" }]
          problems.join("; ") if problems.any?
        end

        # @param given [Hash{Symbol=>Object}] that has no problem
        def self.of(given)
          new(key: (Settings.public_key(given[:public_key]) if given[:public_key]), allow: given.fetch(:allow, Settings::ALLOWED),
            topic: given.fetch(:topic, TOPIC))
        end
      end

      # (reopened: methods of a block would not see the constants)
      # @api private
      class Settings
        NAMES = %i[public_key insecure allow topic].freeze
        # All but to stop a process, which somebody has to start again.
        ALLOWED = (ACTIONS - %i[stop]).freeze
        EXAMPLE = '{public_key: ENV["GUILDHALL_COMMANDS_KEY"]}'

        class << self
          def key_problem(given)
            insecure = given.fetch(:insecure, false)
            return "insecure must be true or false" unless [true, false].include?(insecure)
            return unsigned_problem(insecure) if given[:public_key].nil?
            return "public_key and insecure: true exclude each other: with a key, unsigned commands are refused" if insecure

            public_key(given[:public_key])
            nil
          rescue Guildhall::ArgumentError => error
            "public_key #{error.message}"
          end

          def allow_problem(allow)
            return "allow must be an Array of actions: #{ACTIONS.join(", ")}" unless allow.is_a?(Array)

            wrong = allow.find { |action| !ACTIONS.include?(action) }
            OptionRules.unknown("action #{wrong.inspect}", wrong, ACTIONS) if wrong
          end

          # OpenSSL is loaded only where commands are wanted.
          def public_key(text)
            require_relative "keys"
            Keys.public(text)
          end

          private

          def unsigned_problem(insecure)
            return if insecure

            "needs a public_key, as in #{EXAMPLE} (`guildhall command keys` prints a pair; is the variable set?). Without one, " \
              "whoever may write to the topic could stop this application: where that is meant, write insecure: true"
          end
        end
      end
    end
  end
end
