# frozen_string_literal: true

require "test_helper"
require "support/registry_server"
require "support/protobuf_files"
require "guildhall/protobuf/confluent"

# What schemas import without a reference, and the kinds of files that there are.
class ProtobufKnownFilesTest < GuildhallTest
  Files = ProtobufFiles
  IMPORTS = {
    "confluent/meta.proto" => [".confluent.Meta", {"doc" => "d", "params" => {"a" => "b"}, "tags" => ["t"]}, "0a01641206 0a0161120162 1a0174"],
    "confluent/type/decimal.proto" => [".confluent.type.Decimal", {"value" => "\1".b, "precision" => 9, "scale" => 2}, "0a0101 1009 1802"],
    "confluent/type/variant.proto" => [".confluent.type.Variant", {"metadata" => "m".b, "value" => "v".b}, "0a016d 120176"],
    "google/type/color.proto" => [".google.type.Color", {"red" => 1.0, "green" => 0.0, "blue" => 0.0, "alpha" => {"value" => 0.5}}, "0d0000803f 22050d0000003f"],
    "google/type/date.proto" => [".google.type.Date", {"year" => 2026, "month" => 1, "day" => 2}, "08ea0f 1001 1802"],
    "google/type/datetime.proto" => [".google.type.DateTime", {"year" => 2026, "month" => 0, "day" => 0, "hours" => 5, "minutes" => 0, "seconds" => 0, "nanos" => 0,
                                                               "time_zone" => {"id" => "UTC", "version" => ""}}, "08ea0f 2005 4a05 0a03555443"],
    "google/type/decimal.proto" => [".google.type.Decimal", {"value" => "1.5"}, "0a03312e35"],
    "google/type/expr.proto" => [".google.type.Expr", {"expression" => "a", "title" => "", "description" => "", "location" => "b"}, "0a0161 220162"],
    "google/type/fraction.proto" => [".google.type.Fraction", {"numerator" => 1, "denominator" => 2}, "0801 1002"],
    "google/type/interval.proto" => [".google.type.Interval", {"end_time" => {"seconds" => 3, "nanos" => 0}}, "1202 0803"],
    "google/type/latlng.proto" => [".google.type.LatLng", {"latitude" => 1.0, "longitude" => 0.0}, "09000000000000f03f"],
    "google/type/localized_text.proto" => [".google.type.LocalizedText", {"text" => "a", "language_code" => "de"}, "0a0161 12026465"],
    "google/type/money.proto" => [".google.type.Money", {"currency_code" => "EUR", "units" => 7, "nanos" => 5}, "0a03455552 1007 1805"],
    "google/type/phone_number.proto" => [".google.type.PhoneNumber", {"short_code" => {"region_code" => "US", "number" => "611"}, "extension" => "9"}, "1209 0a025553 1203363131 1a0139"],
    "google/type/postal_address.proto" => [".google.type.PostalAddress", {"revision" => 1, "region_code" => "DE", "language_code" => "", "postal_code" => "", "sorting_code" => "",
                                                                          "administrative_area" => "", "locality" => "", "sublocality" => "", "address_lines" => %w[a b], "recipients" => [],
                                                                          "organization" => "o"}, "0801 12024445 4a0161 4a0162 5a016f"],
    "google/type/quaternion.proto" => [".google.type.Quaternion", {"x" => 0.0, "y" => 0.0, "z" => 0.0, "w" => 1.0}, "21000000000000f03f"],
    "google/type/timeofday.proto" => [".google.type.TimeOfDay", {"hours" => 1, "minutes" => 2, "seconds" => 3, "nanos" => 4}, "0801 1002 1803 2004"],
    "google/protobuf/timestamp.proto" => [".google.protobuf.Timestamp", {"seconds" => 5, "nanos" => 0}, "0805"],
    "google/protobuf/wrappers.proto" => [".google.protobuf.Int64Value", {"value" => 5}, "0805"],
    "google/protobuf/any.proto" => [".google.protobuf.Any", {"type_url" => "u", "value" => "".b}, "0a0175"],
    "google/protobuf/type.proto" => [".google.protobuf.Option", {"name" => "n"}, "0a016e"],
    "google/protobuf/descriptor.proto" => [".google.protobuf.UninterpretedOption.NamePart", {"name_part" => "n", "is_extension" => true}, "0a016e 1001"]
  }.freeze
  ENUMS = {"google/type/calendar_period.proto" => [".google.type.CalendarPeriod", 7, :YEAR], "google/type/dayofweek.proto" => [".google.type.DayOfWeek", 7, :SUNDAY],
           "google/type/month.proto" => [".google.type.Month", 12, :DECEMBER]}.freeze

  def setup
    @server = RegistryServer.new
    @registry = Guildhall::SchemaRegistry.new(@server.url, retries: 0)
  end

  def teardown
    @server.close
  end

  # A codec of a registry that has these files: the last is the schema 4, the others it refers to.
  def codec(*files, **options)
    *others, file = files
    references = others.each_with_index.map do |other, index|
      id = 50 + index
      @server["/subjects/#{other.name}/versions/1"] = [200, {id:, subject: other.name, version: 1, schemaType: "PROTOBUF", schema: "x", references: []}]
      @server["/schemas/ids/#{id}?format=serialized"] = [200, {schema: Files.serialized(other)}]
      {name: other.name, subject: other.name, version: 1}
    end
    @server["/schemas/ids/4?format=serialized"] = [200, {schema: Files.serialized(file)}]
    @server.add(4, "message Order {}", schemaType: "PROTOBUF", references:)
    Guildhall::Protobuf::Confluent.new(@registry, **options)
  end

  def order(dependency, fields, **rest) = Files.file(name: "order.proto", package: "shop", dependency:, message_type: [Files.message("Order", fields)], **rest)
  def hex(text) = [text.delete(" ")].pack("H*")
  def field(tag, bytes) = [tag, bytes.bytesize].pack("CC") + bytes

  def test_imports_without_references
    IMPORTS.each do |import, (type, value, bytes)|
      file = order([import], [["inner", 1, type]])
      decoded = codec(file).decode("\0\0\0\0\4\0".b + field(0x0a, hex(bytes)))
      assert_operator value, :<=, decoded.fetch("inner"), import
      plain = Guildhall::Protobuf.new(Files.set_of(file), message: nil)
      assert_equal decoded, plain.decode(field(0x0a, hex(bytes))), import
      assert_equal field(0x0a, hex(bytes)), plain.encode({"inner" => value}), import
      setup_again
    end
  end

  def test_enums_without_references
    ENUMS.each do |import, (type, number, name)|
      file = order([import], [["inner", 1, :TYPE_ENUM, false, type]])
      assert_equal({"inner" => name}, Guildhall::Protobuf.new(Files.set_of(file)).decode([0x08, number].pack("CC")))
    end
  end

  def setup_again
    teardown
    setup
  end

  def test_a_missing_import_is_named
    error = assert_raises(Guildhall::SchemaRegistry::UnusableSchemaError) { codec(order(%w[a.proto google/type/date.proto google/type/none.proto], [])).decode("\0\0\0\0\4\0".b) }
    assert_equal "the Protobuf schema 4 cannot be used: schema-4.proto: the import a.proto, google/type/none.proto is missing: give the schema a reference of that name, or compile with --include_imports", error.message
  end

  def test_custom_options
    options = Google::Protobuf::FileOptions.decode(hex("8244 03 0a0164"))
    assert_equal({"id" => 5}, codec(order(["confluent/meta.proto"], [["id", 1, :TYPE_INT64]], options:)).decode("\0\0\0\0\4\0\x08\5".b))
    setup_again
    own = Files.file(name: "own.proto", package: "own", dependency: ["google/protobuf/descriptor.proto"], extension: [
      {name: "secret", number: 50_001, label: :LABEL_OPTIONAL, type: :TYPE_BOOL, extendee: ".google.protobuf.FieldOptions"}
    ])
    file = order(["own.proto"], [["id", 1, :TYPE_INT64]])
    file.message_type[0].field[0].options = Google::Protobuf::FieldOptions.decode(hex("88b518 01"))
    assert_equal({"id" => 5}, codec(own, file).decode("\0\0\0\0\4\0\x08\5".b))
  end

  def test_public_and_weak_imports
    forward = Files.file(name: "forward.proto", dependency: ["item.proto"], public_dependency: [0])
    file = order(%w[gone.proto forward.proto], [["items", 1, ".shop.Item", true]], weak_dependency: [0])
    assert_equal({"items" => [{"sku" => "a", "quantity" => 0}]}, codec(Files.item, forward, file).decode("\0\0\0\0\4\0\x0a\3\x0a\1a".b))
  end

  def test_editions_and_proto2
    edition = order([], [["id", 1, :TYPE_INT64]], syntax: "editions", edition: :EDITION_2023)
    assert_equal [{}, {"id" => 0}], ["", "\x08\0"].map { |bytes| codec(edition).decode("\0\0\0\0\4\0".b + bytes) }
    setup_again
    old = order([], [["id", 1, :TYPE_INT64], ["note", 3, :TYPE_GROUP, false, ".shop.Order.Note"], ["kind", 4, :TYPE_INT32]], syntax: "proto2",
      extension: [{name: "extra", number: 100, label: :LABEL_OPTIONAL, type: :TYPE_STRING, extendee: ".shop.Order"}])
    old.message_type[0].nested_type << Files.message("Note", [["text", 1, :TYPE_STRING]])
    old.message_type[0].field[2].default_value = "7"
    old.message_type[0].extension_range << Google::Protobuf::DescriptorProto::ExtensionRange.new(start: 100, end: 200)
    assert_equal({"id" => 5, "note" => {"text" => "x"}}, codec(old).decode("\0\0\0\0\4\0\x08\5\x1b\x0a\1x\x1c\xa2\6\1y".b))
  end

  def test_all_forms_of_indexes
    text = ->(name) { Files.message(name, [["text", 1, :TYPE_STRING]]) }
    file = order([], [["id", 1, :TYPE_INT64]])
    file.message_type[0].nested_type << text.call("N0")
    file.message_type[0].nested_type[0].nested_type.push(text.call("N1"), text.call("N2"))
    file.message_type[0].nested_type[0].nested_type[0].nested_type << text.call("Deep")
    70.times { |number| file.message_type << text.call("M#{number}") }
    reader = codec(file)
    %w[00 0200].each { |indexes| assert_equal({"id" => 5}, reader.decode("\0\0\0\0\4".b + hex(indexes) + "\x08\5"), indexes) }
    # The second message, nested ones, the seventieth.
    %w[0202 040000 06000002 0800000000 028c01].each do |indexes|
      assert_equal({"text" => "x"}, reader.decode("\0\0\0\0\4".b + hex(indexes) + "\x0a\1x"), indexes)
    end
    error = assert_raises(Guildhall::DecodeError) { reader.decode("\0\0\0\0\4\4\0\2".b) }
    assert_match(/schema 4 has no message at 0\.1; it has 0 shop\.Order, 0\.0 shop\.Order\.N0, 0\.0\.0 shop\.Order\.N0\.N1, /, error.message)
    assert_match(/no message at -1/, assert_raises(Guildhall::DecodeError) { reader.decode("\0\0\0\0\4\2\1".b) }.message)
    %w[01 0100 04 80 ffffffffffff].each { |indexes| assert_match(/indexes of a message.*zigzag/, assert_raises(Guildhall::DecodeError) { reader.decode("\0\0\0\0\4".b + hex(indexes)) }.message) }
  end
end
