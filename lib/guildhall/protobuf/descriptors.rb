# frozen_string_literal: true

require "google/protobuf/descriptor_pb"
require_relative "known_files"

module Guildhall
  class Protobuf
    # Message classes made from FileDescriptorProtos. Belongs to the main Ractor; the classes may go anywhere.
    # @api private
    class Descriptors
      NO_SET = "not a FileDescriptorSet: make one with protoc --include_imports --descriptor_set_out=FILE"
      private_constant :NO_SET

      # @param bytes [String] of a FileDescriptorSet
      # @raise [Guildhall::ArgumentError]
      def self.of_set(bytes)
        files = Google::Protobuf::FileDescriptorSet.decode(bytes).file
        raise Guildhall::ArgumentError, NO_SET if files.empty?

        new.tap { |made| files.each { |file| made.add(file) } }
      rescue Google::Protobuf::ParseError
        raise Guildhall::ArgumentError, NO_SET
      end

      # The gem makes the class of a message when it is first asked for, and cannot read messages in a message before that.
      def self.make_classes(descriptor)
        seen = {}
        waiting = [descriptor]
        while (one = waiting.pop)
          next if seen.key?(one.name)

          seen[one.name] = true
          one.msgclass
          one.each { |field| waiting << field.subtype if %i[message group].include?(field.type) }
        end
      end

      def initialize
        @pool = Google::Protobuf::DescriptorPool.new
        @added = {} # name => the file that has it, and where that is from
        @names = []
      end

      # @param file [Google::Protobuf::FileDescriptorProto] files that it imports have to be added before it, unless they are {KnownFiles}
      # @param source [String] where it is from, for errors
      # @raise [Guildhall::ArgumentError] naming an import that is missing, or a file that is there already and says something else
      def add(file, source = file.name)
        return check_same(file, source) if @added.key?(file.name)

        build(file, source)
        @names.concat(file.message_type.map { |type| [file.package, type.name].reject(&:empty?).join(".") })
      rescue Google::Protobuf::TypeError => error
        raise Guildhall::ArgumentError, "#{file.name}: #{error.message}"
      end

      # @param name [String, nil] full name; nil: the only message there is
      # @raise [Guildhall::ArgumentError]
      def message(name)
        name ||= @names.first if @names.size == 1
        found = name && @pool.lookup(name)
        return found.msgclass if found.respond_to?(:msgclass)

        names = @names.any? ? @names.join(", ") : "none"
        raise Guildhall::ArgumentError, "#{name ? "there is no message #{name}" : "say which message"}; there are #{names}"
      end

      private

      def build(file, source)
        @pool.add_serialized_file(Google::Protobuf::FileDescriptorProto.encode(with_imports(file)))
        @added[file.name] = [file, source]
      end

      # One message cannot have fields of both.
      def check_same(file, source)
        there, other = @added.fetch(file.name)
        return if there == file || KnownFiles.find(file.name)

        sources = [other, source].uniq.join(" and ")
        raise Guildhall::ArgumentError, "two files are imported as #{file.name}, with different contents: #{sources}; let all that " \
                                        "import it refer to the same one"
      end

      # Adds what registries bring; leaves out a weak import that is not there, which a compiler does as well.
      def with_imports(file)
        names = file.dependency.to_a
        weak = file.weak_dependency.map { |index| names[index] }
        missing = names.reject { |name| @added.key?(name) || add_known(name) }
        raise Guildhall::ArgumentError, missing_imports(file, missing - weak) if (missing - weak).any?

        missing.empty? ? file : without(file, names, missing, weak)
      end

      def without(file, names, missing, weak)
        kept = names - missing
        public = file.public_dependency.map { |index| names[index] }
        places = {dependency: kept, weak_dependency: kept.each_index.select { |index| weak.include?(kept[index]) },
                  public_dependency: kept.each_index.select { |index| public.include?(kept[index]) }}
        file.dup.tap { |copy| places.each { |field, values| copy[field.to_s].replace(values) } }
      end

      def missing_imports(file, names)
        "#{file.name}: the import #{names.join(", ")} is missing: give the schema a reference of that name, " \
          "or compile with --include_imports"
      end

      def add_known(name)
        known = KnownFiles.find(name) or return false
        build(known, name)
        true
      end
    end
  end
end
