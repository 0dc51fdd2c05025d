# frozen_string_literal: true

require "yaml"
require "guildhall/suggestion"

module Guildhall
  module Kafka
    module CLI
      # Clusters by name, for commands that work without an application: a YAML file with librdkafka's settings of each.
      #
      #     staging:
      #       bootstrap.servers: kafka-1.staging:9093
      #       security.protocol: sasl_ssl
      #       sasl.mechanism: SCRAM-SHA-512
      #       sasl.username: ann
      #       sasl.password: ${STAGING_PASSWORD}
      #
      # `${NAME}` stands for an environment variable, so that the file needs no secrets.
      class ProfileFile
        FILE = "GUILDHALL_PROFILES" # an environment variable: another file
        NAME = "GUILDHALL_PROFILE" # an environment variable: the profile where no option names one
        VARIABLE = /\$\{(\w+)\}/
        private_constant :VARIABLE

        def initialize(env = ENV)
          @env = env
          # What is not absolute does not count, as the XDG specification says: the file would depend on the current folder.
          folders = {"XDG_CONFIG_HOME" => "", "HOME" => ".config"}.select { |name, _| env[name]&.start_with?("/") }
          folder = folders.map { |name, below| File.join(env[name], below) }.first
          @file = env[FILE] || (folder && File.join(folder, "guildhall", "profiles.yml"))
        end

        # @return [String] for people, too, where there is no such place
        def path = @file || "$HOME/.config/guildhall/profiles.yml"

        # @return [String, nil] the profile that the environment names
        def chosen = @env[NAME]

        # @return [Array<String>]
        # @raise [Guildhall::ArgumentError] where the file is not one of profiles
        def names = profiles.keys

        # @return [Hash{Symbol=>Object}] librdkafka's settings
        # @raise [Guildhall::ArgumentError] where there is no such profile, or it names an environment variable that is not set
        def fetch(name)
          found = profiles.fetch(name) do
            known = names.empty? ? "it has none" : "it has #{names.join(", ")}"
            raise Guildhall::ArgumentError, "there is no profile #{name} in #{path}#{Suggestion.for(name, names)}; #{known}"
          end
          found.to_h { |setting, value| [setting.to_sym, value.is_a?(String) ? expand(value, name) : value] }
        end

        # @return [String, nil] the brokers of a profile, as they are written: no other setting is shown, for it may be secret
        def servers(name) = profiles.fetch(name)["bootstrap.servers"]&.to_s

        private

        def expand(text, name)
          text.gsub(VARIABLE) do
            @env.fetch(Regexp.last_match(1)) do |variable|
              raise Guildhall::ArgumentError, "the profile #{name} in #{path} needs the environment variable #{variable}"
            end
          end
        end

        def settings?(value) = value.is_a?(Hash) && value.keys.all?(String)

        def profiles
          @profiles ||= read
        end

        def read
          raise Guildhall::ArgumentError, "there is no place for profiles: set HOME, or #{FILE} to the file" unless @file
          return {} unless File.exist?(@file)

          found = ::YAML.safe_load_file(@file) || {}
          return found if found.is_a?(Hash) && found.all? { |name, settings| name.is_a?(String) && settings?(settings) }

          raise Guildhall::ArgumentError, "#{path} must have names of profiles, and librdkafka's settings of each"
        rescue SystemCallError => error
          raise Guildhall::ArgumentError, "#{path} cannot be read: #{error.class.new.message}"
        rescue Psych::Exception => error
          raise Guildhall::ArgumentError, "#{path} cannot be read as YAML, in line #{error.line}" if error.respond_to?(:line)

          raise Guildhall::ArgumentError, "#{path} cannot be read as YAML: it may have only plain values"
        end
      end
    end
  end
end
