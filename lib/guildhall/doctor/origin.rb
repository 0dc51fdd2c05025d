# frozen_string_literal: true

module Guildhall
  class Doctor
    # Gems that were tried and do not work in Ractors, with what to use in a task instead.
    # @api private
    module KnownGems
      # Gem => the module that a task would name, what is wrong, what to do instead.
      GEMS = {
        "activesupport" => ["ActiveSupport::JSON", "keeps its settings in class variables", "use Guildhall::JSON"],
        "avro" => ["Avro", "keeps its settings and its types in class-level variables and constants that are not shareable", "use Guildhall::Avro"],
        "dry-schema" => ["Dry::Schema", "builds schemas of blocks that are not shareable", "use Guildhall::Schema.contract"],
        "dry-validation" => ["Dry::Validation", "builds contracts of blocks that are not shareable", "use Guildhall::Schema.contract"],
        "google-protobuf" => ["Google::Protobuf", "is written in C, and is not safe to use in Ractors",
                              "use Guildhall::Protobuf, which decodes in the main Ractor"],
        "json_schemer" => ["JSONSchemer", "keeps its meta-schemas and its configuration in variables that are not shareable", "use Guildhall::Schema"],
        "jsonschema_rs" => ["JSONSchema", "is written in Rust, and does not say that it is safe to use in Ractors", "use Guildhall::Schema"],
        "msgpack" => [nil, "its default factory is not shareable", "use Guildhall::MessagePack, or Guildhall::Task.per_worker with a MessagePack::Factory"],
        "multi_json" => ["MultiJson", "calls methods that were made of blocks, and keeps its adapter in variables that are not shareable",
                         "use Guildhall::JSON"],
        "nokogiri" => ["Nokogiri", "is written in C, and does not say that it is safe to use in Ractors",
                       "parse in the main Ractor, or in processes of their own (the gem parallel)"],
        "simdjson" => ["Simdjson", "is written in C, and does not say that it is safe to use in Ractors", "use Guildhall::JSON"],
        "sqlite3" => ["SQLite3", "is written in C, and does not say that it is safe to use in Ractors", "query it in the main Ractor"],
        "tzinfo" => ["TZInfo", "keeps its time zones in class variables", "convert times in the main Ractor"],
        "yajl-ruby" => ["Yajl", "is written in C, and does not say that it is safe to use in Ractors", "use Guildhall::JSON"]
      }.transform_values(&:freeze).freeze
      MODULES = GEMS.to_h { |gem, (name, *)| [name, gem] }.freeze
      private_constant :GEMS, :MODULES

      # @return [Array(String, String), nil] what is wrong, and what to do instead; nil: nothing is known
      def self.[](gem) = GEMS[gem]&.last(2)

      def self.of(type)
        gem = MODULES.find { |name, _| name && Inspection.label(type).match?(/\A#{name}(?:::|\z)/) }&.last
        problem, advice = GEMS[gem]&.last(2)
        ["comes from the gem #{gem}, which #{problem}", advice] if gem
      end
    end

    # The gem that a module comes from, and its compiled extensions.
    # @api private
    class Origin
      CLAIM = "rb_ext_ractor_safe" # the function that an extension calls to say so; its name is in the file
      private_constant :CLAIM

      # @return [Origin, nil] nil: not a gem's
      def self.of(type)
        file = file_of(type)
        at(file) if file
      end

      # @return [Origin, nil] nil: not a gem's
      def self.at(file)
        specification = installed.find { |one| folders(one).any? { |folder| file.start_with?(folder) } }
        specification && new(specification)
      end

      # Inspection tells an author how to change the code; a gem's user cannot do that, and needs other advice.
      def self.advice_for(file, advice)
        at(file)&.instead || (advice.include?(Inspection::FREEZE) ? advice : Inspection::CALL_ELSEWHERE)
      end

      # A gem that Bundler takes from a folder is being developed there, so it counts as the application's own code.
      def self.installed
        ::Gem.loaded_specs.each_value.select { |one| one.full_gem_path.start_with?(*::Gem.path) }
      end
      private_class_method :installed

      def self.named(gem)
        specification = ::Gem.loaded_specs[gem]
        specification && new(specification)
      end

      # @return [String, nil] where it, or the module around it, was first defined; for one of an extension, where that was required
      def self.file_of(type)
        type = type.attached_object if type.singleton_class?
        name = Inspection.constant_name(type.is_a?(Module) ? type : type.class) or return
        [name, name[/\A\w+/]].each do |path|
          file, = Object.const_source_location(path)
          return file if file
        end
        nil
      rescue NameError
        nil
      end

      def self.folders(specification)
        [specification.full_gem_path, specification.extension_dir].map { |folder| "#{folder}/" }
      end
      private_class_method :folders

      attr_reader :name

      def initialize(specification)
        @name = specification.name
        @folders = Origin.send(:folders, specification)
      end

      def include?(path) = path.start_with?(*@folders)

      # @return [String, nil] what to use in a task instead of it; nil: nothing is known
      def instead = KnownGems[@name]&.last

      # @return [Array(String, String), nil] what is wrong with all of it, and what to do; nil: nothing is known
      def verdict = KnownGems[@name] || unsafe

      # @return [Array(String, String), nil] what is wrong with its methods in C, and what to do; nil: nothing is known
      def unsafe
        return if unsafe_extensions.empty?

        names = unsafe_extensions.map { |path| File.basename(path) }.join(", ")
        ["is written in C, and #{names} of the gem #{@name} does not say that it is safe to use in Ractors: " \
         "its methods raise Ractor::UnsafeError there", instead || Inspection::CALL_ELSEWHERE]
      end

      private

      def unsafe_extensions
        @unsafe_extensions ||= $LOADED_FEATURES.select { |path| path.end_with?(".#{RbConfig::CONFIG["DLEXT"]}") && mine?(path) && !claims?(path) }
      end

      def mine?(path) = path.start_with?(*@folders)

      def claims?(path)
        File.binread(path).include?(CLAIM)
      rescue SystemCallError
        true # nothing is known of it
      end
    end
  end
end
