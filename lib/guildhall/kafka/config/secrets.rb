# frozen_string_literal: true

module Guildhall
  module Kafka
    class Config
      # Values of librdkafka's settings that nobody else may read: no message, no `inspect` and no log has them.
      module Secrets
        NAMES = /password|passphrase|secret|private\.key|key\.pem|\Assl_key\z|\Asasl\.oauthbearer\.config\z|token\z/
        # Credentials within an address.
        IN_ADDRESS = %r{://[^/@\s]+@}
        HIDDEN = "[hidden]"
        private_constant :NAMES, :IN_ADDRESS

        # A String that does not show what it is where objects are printed: in a Hash, an instance variable, an error of Ruby's.
        class Secret < String
          def inspect = HIDDEN

          def pretty_print(printer) = printer.text(HIDDEN)
        end

        # @return [Hash{Symbol,String=>Object}] the same, to be printed without harm
        def self.hide(settings)
          settings.to_h { |name, value| [name, secret?(name, value) && value.is_a?(String) ? Secret.new(value).freeze : value] }
        end

        # @param name [#to_s] of a setting
        def self.secret?(name, value = nil)
          name.to_s.match?(NAMES) || (value.is_a?(String) && value.match?(IN_ADDRESS))
        end

        # @param text [String] of somebody else's, which may quote the value
        # @return [String] without it
        def self.without(text, name, value)
          secret?(name, value) && !value.empty? ? text.gsub(value, HIDDEN) : text
        end

        # @return [String] the value as Ruby writes it, or its class only where it may be secret
        def self.shown(name, value)
          text = value.inspect
          secret?(name, text) ? kind(value) : text
        end

        # What can be said of a value in any case: it may be secret, or hold what is.
        # @return [String] such as "an Array"
        def self.kind(value)
          name = value.class.name || "object"
          "#{name.match?(/\A[AEIOU]/i) ? "an" : "a"} #{name}"
        end
      end
    end
  end
end
