# frozen_string_literal: true

module Guildhall
  module Adapters
    module Rails
      # Ruby 4.0.0 to 4.0.5 ends the process if a class that has class variables is given another one after the first Ractor was made (its
      # bug #22072). I18n makes some of its own when they are first used: here that is at boot.
      module EarlyVariables
        AFFECTED = RUBY_VERSION.match?(/\A4\.0\.[0-5]\z/)
        NAMES = %i[backend default_locale available_locales_set default_separator exception_handler missing_interpolation_argument_handler
                   load_path enforce_available_locales interpolation_patterns].freeze
        private_constant :NAMES

        # @return [void]
        def self.make
          NAMES.each { |name| ::I18n.config.public_send(name) } if AFFECTED
        end
      end
    end
  end
end
