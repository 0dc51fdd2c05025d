# frozen_string_literal: true

module Guildhall
  class Doctor
    # Several modules that are examined together: those of a gem, or of a folder.
    class Modules
      NAME = Module.instance_method(:name)
      NEEDS = "name what it needs with -r, such as config/environment.rb"
      private_constant :NAME, :NEEDS

      # @return [String]
      attr_reader :name

      # @param name [String]
      # @param folders [Array<String>] modules that were first defined there
      # @param missing [Hash{String=>String}] files that could not be loaded, and why
      # @param gem [String, nil] that is to be judged itself
      def initialize(name, folders, missing: {}, gem: nil)
        @name = name
        @folders = folders.map { |folder| "#{File.expand_path(folder)}/" }
        @missing = missing
        @gem = gem
      end

      # @param visitor [Visitor]
      # @return [void]
      def read(visitor)
        visitor.gem(@gem) if @gem
        visitor.modules(list)
        @missing.each do |file, reason|
          visitor.suspicions << Inspection::Finding.new(thing: File.basename(file), file:, line: nil,
            problem: "could not be loaded: #{reason}", advice: reason.include?("SyntaxError") ? "correct it" : NEEDS)
        end
      end

      # @return [Array<Module>]
      def list
        ObjectSpace.each_object(Module).select { |type| here?(type) }.sort_by { |type| NAME.bind_call(type) }
      end

      private

      def here?(type)
        return false if type.singleton_class?

        name = NAME.bind_call(type) or return false
        file, = Object.const_source_location(name)
        !file.nil? && file.start_with?(*@folders)
      rescue NameError
        false
      end
    end
  end
end
