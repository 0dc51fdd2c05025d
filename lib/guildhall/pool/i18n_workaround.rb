# frozen_string_literal: true

module Guildhall
  class Pool
    # Ruby 4.0.0 to 4.0.5 ends the process ("[BUG] should have cvar cache entry", its bug #22072) if a class that has class variables is
    # given another one after the first Ractor was made. I18n makes its own one by one when they are first used, and Rails loads its base
    # classes when they are first used: both happens here, before the first Ractor. What I18n assigns with `||=` stays its own doing.
    # Files that the application autoloads, or reloads when code changes, stay a danger: one warning names them.
    # @api private
    module I18nWorkaround
      AFFECTED = RUBY_VERSION.match?(/\A4\.0\.[0-5]\z/)
      NAMES = %i[@@backend @@default_locale @@available_locales @@available_locales_set @@default_separator @@exception_handler
                 @@missing_interpolation_argument_handler @@load_path @@interpolation_patterns].freeze
      # Of Rails 7.2 to 8.1, what has two class variables or more and is loaded late. test/integration/rails_test.rb finds what is missing.
      CLASSES = %w[ActionController::API ActionController::Base ActionDispatch::Response ActionMailer::Base ActionText::ContentHelper
                   ActionView::Base ActiveRecord::Encryption ActiveRecord::FixtureSet ActiveRecord::SchemaDumper
                   ActiveRecord::Tasks::DatabaseTasks].freeze
      DEFINITIONS = [/@@(\w+)\s*(?:\|\||&&)?=(?![=~])/, /\b[cm]attr_(?:accessor|reader|writer)[ (]\s*((?::\w+(?:,\s*)?)+)/].freeze
      SHOWN = 5 # files in the warning
      # These Rubies prepend it to Kernel when the first Ractor is made. `Ractor.count` forgets Ractors that have ended.
      ACTIVATED = "<RactorRequire>"
      private_constant :NAMES, :CLASSES, :DEFINITIONS, :SHOWN, :ACTIVATED

      class << self
        # Before the first Ractor; later it changes nothing, for loading these classes then would end the process.
        def apply
          return if !AFFECTED || Kernel.ancestors.any? { |part| part.name == ACTIVATED }

          make_variables if defined?(::I18n::Config)
          CLASSES.each { |name| load(name) }
          warn_of(late_files) if defined?(::Rails.application) && ::Rails.application && !complete?(::Rails.application.config)
        end

        private

        def make_variables
          missing = NAMES - ::I18n::Config.class_variables
          missing.each { |name| ::I18n::Config.class_variable_set(name, nil) } # rubocop:disable Style/ClassVars -- I18n's
        end

        # Only below a framework that the application has. What cannot be loaded here cannot be loaded later, either.
        def load(name)
          Object.const_get(name) if Object.const_defined?(name[/\A\w+/])
        rescue NameError, LoadError, StandardError
          nil
        end

        def complete?(config) = config.eager_load && !config.reloading_enabled?

        # @return [Array<String>] files below the autoloaders' folders that give one class several variables
        def late_files
          folders = ::Rails.autoloaders.flat_map(&:dirs).uniq
          Dir[*folders.map { |folder| File.join(folder, "**/*.rb") }].select { |file| variables(File.binread(file)).size > 1 }
        end

        def variables(text)
          DEFINITIONS.flat_map { |definition| text.scan(definition).flatten.flat_map { |names| names.scan(/\w+/) } }.uniq
        end

        def warn_of(files)
          return if files.empty?

          names = files.first(SHOWN).map { |file| file.delete_prefix("#{::Rails.root}/") }
          names << "#{files.size - SHOWN} more" if files.size > SHOWN
          ::Rails.logger&.warn("guildhall: Ruby #{RUBY_VERSION} ends the process if a class is given a second class variable beside " \
                               "workers (Ruby's bug #22072). Rails' own classes are loaded; these are loaded later, or again " \
                               "when code changes: #{names.join(", ")}. Run Ruby 4.0.6, or set config.eager_load = true " \
                               "and config.enable_reloading = false")
        end
      end
    end
  end
end
