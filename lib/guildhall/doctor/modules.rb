# frozen_string_literal: true

module Guildhall
  class Doctor
    # Several modules that are examined together: those of a gem, or of a folder.
    # @api private
    class Modules
      NEEDS = "name what it needs with -r, such as config/environment.rb"
      CONSTANTS = Module.instance_method(:constants)
      private_constant :NEEDS, :CONSTANTS

      attr_reader :name

      # @param folders [Array<String>] modules that were first defined there
      # @param missing [Hash{String=>String}] files that could not be loaded, and why
      # @param gem [String, nil] that is to be judged itself
      def initialize(name, folders, missing: {}, gem: nil)
        @name = name
        @folders = folders.map { |folder| "#{File.expand_path(folder)}/" }
        @missing = missing
        @gem = gem
      end

      def read(visitor)
        read_gem(visitor) if @gem
        visitor.modules(list)
        @missing.each do |file, reason|
          visitor.suspicions << Inspection::Finding.new(thing: File.basename(file), file:, line: nil,
            problem: "could not be loaded: #{reason}", advice: reason.include?("SyntaxError") ? "correct it" : NEEDS)
        end
      end

      def list
        ObjectSpace.each_object(Module).select { |type| here?(type) }.sort_by { |type| Inspection.constant_name(type) }
      end

      private

      def read_gem(visitor)
        visitor.gem(@gem)
        load_late
      end

      # A gem's autoloads are part of it, and may define further autoloads.
      def load_late
        tried = {}
        loop do
          late = list.flat_map { |type| late_in(type) }.reject { |name| tried[name] }
          break if late.empty?

          late.each { |name| tried[name] = load(name) || true }
        end
      end

      def late_in(type)
        late = CONSTANTS.bind_call(type, false).select { |name| type.autoload?(name, false) }
        late.map { |name| "#{Inspection.constant_name(type)}::#{name}" }
      end

      # No task can call a constant that cannot be loaded, because another gem is missing, say.
      def load(name)
        Object.const_get(name)
      rescue ScriptError, StandardError
        nil
      end

      def here?(type)
        return false if type.singleton_class?

        file = Inspection.file_of(type)
        !file.nil? && file.start_with?(*@folders)
      end
    end
  end
end
