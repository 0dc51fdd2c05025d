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
      class Profiles
        FILE = "GUILDHALL_PROFILES" # an environment variable: another file
        NAME = "GUILDHALL_PROFILE" # an environment variable: the profile where no option names one
        VARIABLE = /\$\{(\w+)\}/
        private_constant :VARIABLE

        # @return [String]
        attr_reader :path

        def initialize(env = ENV)
          @env = env
          folder = env["XDG_CONFIG_HOME"] || (env["HOME"] && File.join(env["HOME"], ".config"))
          @path = env[FILE] || File.join(*folder, "guildhall", "profiles.yml")
        end

        # @return [String, nil] the profile that the environment names
        def chosen = @env[NAME]

        # @return [Array<String>]
        # @raise [Guildhall::ArgumentError] where the file is not one of profiles
        def names = profiles.keys

        # @return [Hash{Symbol=>Object}] librdkafka's settings
        # @raise [Guildhall::ArgumentError] where there is no such profile, or it names an environment variable that is not set
        def fetch(name)
          found = profiles.fetch(name) do
            raise Guildhall::ArgumentError, "there is no profile #{name} in #{@path}#{Suggestion.for(name, names)}"
          end
          found.to_h { |setting, value| [setting.to_sym, value.is_a?(String) ? expand(value, name) : value] }
        end

        # @return [String, nil] the brokers of a profile, as they are written: no other setting is shown, for it may be secret
        def servers(name) = profiles.fetch(name)["bootstrap.servers"]&.to_s

        private

        def expand(text, name)
          text.gsub(VARIABLE) do
            @env.fetch(Regexp.last_match(1)) do |variable|
              raise Guildhall::ArgumentError, "the profile #{name} in #{@path} needs the environment variable #{variable}"
            end
          end
        end

        def settings?(value) = value.is_a?(Hash) && value.keys.all?(String)

        def profiles
          @profiles ||= read
        end

        def read
          return {} unless File.exist?(@path)

          found = ::YAML.safe_load_file(@path) || {}
          return found if found.is_a?(Hash) && found.all? { |name, settings| name.is_a?(String) && settings?(settings) }

          raise Guildhall::ArgumentError, "#{@path} must have names of profiles, and librdkafka's settings of each"
        rescue SystemCallError => error
          raise Guildhall::ArgumentError, "#{@path} cannot be read: #{error.class.new.message}"
        rescue Psych::Exception => error
          raise Guildhall::ArgumentError, "#{@path} cannot be read as YAML, in line #{error.line}" if error.respond_to?(:line)

          raise Guildhall::ArgumentError, "#{@path} cannot be read as YAML: it may have only plain values"
        end
      end
    end
  end
end
