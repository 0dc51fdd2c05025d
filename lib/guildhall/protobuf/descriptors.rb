# frozen_string_literal: true

require "google/protobuf/descriptor_pb"

module Guildhall
  class Protobuf
    # Message classes made from FileDescriptorProtos. Belongs to the main Ractor; the classes may go anywhere.
    # @api private
    class Descriptors
      # Types that every compiler brings: file → a message in it.
      WELL_KNOWN = {
        "any" => "Any", "api" => "Api", "duration" => "Duration", "empty" => "Empty", "field_mask" => "FieldMask",
        "source_context" => "SourceContext", "struct" => "Struct", "timestamp" => "Timestamp", "type" => "Type", "wrappers" => "StringValue"
      }.freeze
      private_constant :WELL_KNOWN

      # @param bytes [String] of a FileDescriptorSet
      # @return [Descriptors]
      # @raise [Guildhall::ArgumentError]
      def self.of_set(bytes)
        files = Google::Protobuf::FileDescriptorSet.decode(bytes).file
        new.tap { |made| files.each { |file| made.add(file) } }
      rescue Google::Protobuf::ParseError
        raise Guildhall::ArgumentError, "not a FileDescriptorSet: make one with protoc --include_imports --descriptor_set_out=FILE"
      end

      # The gem makes the class of a message when it is first asked for, and cannot read repeated fields before that.
      # @param descriptor [Google::Protobuf::Descriptor]
      # @return [void]
      def self.make_classes(descriptor, seen = [])
        return if seen.include?(descriptor.name)

        seen << descriptor.name
        descriptor.msgclass
        descriptor.each { |field| make_classes(field.subtype, seen) if field.type == :message }
      end

      def initialize
        @pool = Google::Protobuf::DescriptorPool.new
        @added = []
        @names = []
      end

      # @param file [Google::Protobuf::FileDescriptorProto] files that it imports have to be added before it
      # @return [void]
      # @raise [Guildhall::ArgumentError] naming an import that is missing
      def add(file)
        return if @added.include?(file.name)

        file.dependency.each { |name| add_well_known(name) unless @added.include?(name) }
        @pool.add_serialized_file(Google::Protobuf::FileDescriptorProto.encode(file))
        @added << file.name
        @names.concat(file.message_type.map { |type| [file.package, type.name].reject(&:empty?).join(".") })
      rescue Google::Protobuf::TypeError => error
        raise Guildhall::ArgumentError, "#{file.name}: #{error.message}"
      end

      # @param name [String, nil] full name; nil: the only message there is
      # @return [Class]
      # @raise [Guildhall::ArgumentError]
      def message(name)
        name ||= @names.first if @names.size == 1
        found = name && @pool.lookup(name)
        return found.msgclass if found.respond_to?(:msgclass)

        raise Guildhall::ArgumentError, "#{name ? "there is no message #{name}" : "say which message"}; there are #{@names.join(", ")}"
      end

      private

      def add_well_known(name)
        type = WELL_KNOWN[name[%r{\Agoogle/protobuf/(\w+)\.proto\z}, 1]]
        raise Guildhall::ArgumentError, "the import #{name} is missing" unless type

        require "#{name.delete_suffix(".proto")}_pb"
        add(Google::Protobuf.const_get(type).descriptor.file_descriptor.to_proto)
      end
    end
  end
end
