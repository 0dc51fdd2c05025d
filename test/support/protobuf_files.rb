# frozen_string_literal: true

require "google/protobuf"
require "google/protobuf/descriptor_pb"

# What protoc would make of two small files: one imports the other, and a type that every compiler brings.
module ProtobufFiles
  module_function

  def item
    file(name: "item.proto", package: "shop", message_type: [message("Item", [["sku", 1, :TYPE_STRING], ["quantity", 2, :TYPE_INT32]])])
  end

  # message Order { message Note { string text = 1; }  int64 id = 1; repeated Item items = 2; Timestamp at = 3; … }
  def order(imports = ["item.proto", "google/protobuf/timestamp.proto"])
    entry = message("LabelsEntry", [["key", 1, :TYPE_STRING], ["value", 2, :TYPE_STRING]])
    entry.options = Google::Protobuf::MessageOptions.new(map_entry: true)
    order = message("Order", [["id", 1, :TYPE_INT64], ["items", 2, ".shop.Item", true], ["at", 3, ".google.protobuf.Timestamp"],
                              ["labels", 4, ".shop.Order.LabelsEntry", true], ["raw", 5, :TYPE_BYTES], ["kind", 6, :TYPE_ENUM, false, ".shop.Kind"]])
    order.nested_type.push(entry, message("Note", [["text", 1, :TYPE_STRING]]))
    kind = Google::Protobuf::EnumDescriptorProto.new(name: "Kind", value: [{name: "OPEN", number: 0}, {name: "PAID", number: 1}])
    file(name: "order.proto", package: "shop", dependency: imports, message_type: [order, message("Other", [["id", 1, :TYPE_INT64]])], enum_type: [kind])
  end

  # message Shelf { map<string, Shelf> items = 1; string name = 2; }
  def shelf
    entry = message("ItemsEntry", [["key", 1, :TYPE_STRING], ["value", 2, ".shop.Shelf"]])
    entry.options = Google::Protobuf::MessageOptions.new(map_entry: true)
    shelf = message("Shelf", [["items", 1, ".shop.Shelf.ItemsEntry", true], ["name", 2, :TYPE_STRING]])
    shelf.nested_type.push(entry)
    file(name: "shelf.proto", package: "shop", message_type: [shelf])
  end

  # @return [String] a FileDescriptorSet
  def set = set_of(item, order)

  def set_of(*files)
    Google::Protobuf::FileDescriptorSet.encode(Google::Protobuf::FileDescriptorSet.new(file: files))
  end

  # @return [String] as a registry gives it
  def serialized(file) = [Google::Protobuf::FileDescriptorProto.encode(file)].pack("m0")

  def file(**) = Google::Protobuf::FileDescriptorProto.new(syntax: "proto3", **)

  def message(name, fields)
    described = fields.map do |field, number, type, repeated, named|
      kind = type.is_a?(String) ? {type: :TYPE_MESSAGE, type_name: type} : {type:, type_name: named}.compact
      {name: field, number:, label: repeated ? :LABEL_REPEATED : :LABEL_OPTIONAL, **kind}
    end
    Google::Protobuf::DescriptorProto.new(name:, field: described)
  end
end
