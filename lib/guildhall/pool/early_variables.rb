# frozen_string_literal: true

module Guildhall
  class Pool
    # Ruby 4.0.0 to 4.0.5 ends the process if a class that has class variables is given another one after the first Ractor was made (its
    # bug #22072). I18n, which most applications load, makes its own one by one when they are first used: here they are made before.
    # What I18n assigns to each with `||=` stays its own doing.
    module EarlyVariables
      AFFECTED = RUBY_VERSION.match?(/\A4\.0\.[0-5]\z/)
      NAMES = %i[@@backend @@default_locale @@available_locales @@available_locales_set @@default_separator @@exception_handler
                 @@missing_interpolation_argument_handler @@load_path @@interpolation_patterns].freeze
      private_constant :NAMES

      # Before the first Ractor; later it changes nothing.
      def self.make
        return unless AFFECTED && defined?(::I18n::Config)

        (NAMES - ::I18n::Config.class_variables).each { |name| ::I18n::Config.class_variable_set(name, nil) } # rubocop:disable Style/ClassVars -- I18n's
      end
    end
  end
end
