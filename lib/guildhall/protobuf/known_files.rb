# frozen_string_literal: true

require "google/protobuf/descriptor_pb"

module Guildhall
  class Protobuf
    # The files that registries and compilers bring, so that a schema imports them without a reference: Google's well-known types,
    # which the gem has, and the common types of Confluent and Google, written down here as names, numbers and types of fields.
    # @api private
    module KnownFiles
      # Of the gem: file → a message in it.
      WELL_KNOWN = {
        "any" => "Any", "api" => "Api", "descriptor" => "FileDescriptorSet", "duration" => "Duration", "empty" => "Empty",
        "field_mask" => "FieldMask", "source_context" => "SourceContext", "struct" => "Struct", "timestamp" => "Timestamp",
        "type" => "Type", "wrappers" => "StringValue"
      }.freeze
      # A message's fields in order: name => type, numbered from 1. [type] is a repeated one; "in KIND type" is one of the oneof KIND.
      # An Array instead of a Hash is an enum, whose values are numbered from 0.
      COMMON = {
        "confluent/type/decimal" => {"Decimal" => {value: "bytes", precision: "uint32", scale: "int32"}},
        "confluent/type/variant" => {"Variant" => {metadata: "bytes", value: "bytes"}},
        "google/type/calendar_period" => {"CalendarPeriod" => %w[CALENDAR_PERIOD_UNSPECIFIED DAY WEEK FORTNIGHT MONTH QUARTER HALF YEAR]},
        "google/type/color" => {"Color" => {red: "float", green: "float", blue: "float", alpha: ".google.protobuf.FloatValue"}},
        "google/type/date" => {"Date" => {year: "int32", month: "int32", day: "int32"}},
        "google/type/datetime" => {
          "DateTime" => {year: "int32", month: "int32", day: "int32", hours: "int32", minutes: "int32", seconds: "int32", nanos: "int32",
                         utc_offset: "in time_offset .google.protobuf.Duration", time_zone: "in time_offset .google.type.TimeZone"},
          "TimeZone" => {id: "string", version: "string"}
        },
        "google/type/dayofweek" => {
          "DayOfWeek" => %w[DAY_OF_WEEK_UNSPECIFIED MONDAY TUESDAY WEDNESDAY THURSDAY FRIDAY SATURDAY SUNDAY]
        },
        "google/type/decimal" => {"Decimal" => {value: "string"}},
        "google/type/expr" => {"Expr" => {expression: "string", title: "string", description: "string", location: "string"}},
        "google/type/fraction" => {"Fraction" => {numerator: "int64", denominator: "int64"}},
        "google/type/interval" => {"Interval" => {start_time: ".google.protobuf.Timestamp", end_time: ".google.protobuf.Timestamp"}},
        "google/type/latlng" => {"LatLng" => {latitude: "double", longitude: "double"}},
        "google/type/localized_text" => {"LocalizedText" => {text: "string", language_code: "string"}},
        "google/type/money" => {"Money" => {currency_code: "string", units: "int64", nanos: "int32"}},
        "google/type/month" => {
          "Month" => %w[MONTH_UNSPECIFIED JANUARY FEBRUARY MARCH APRIL MAY JUNE JULY AUGUST SEPTEMBER OCTOBER NOVEMBER DECEMBER]
        },
        "google/type/phone_number" => {
          "PhoneNumber" => {e164_number: "in kind string", short_code: "in kind .google.type.PhoneNumber.ShortCode", extension: "string"},
          "PhoneNumber.ShortCode" => {region_code: "string", number: "string"}
        },
        "google/type/postal_address" => {
          "PostalAddress" => {
            revision: "int32", region_code: "string", language_code: "string", postal_code: "string", sorting_code: "string",
            administrative_area: "string", locality: "string", sublocality: "string", address_lines: ["string"],
            recipients: ["string"], organization: "string"
          }
        },
        "google/type/quaternion" => {"Quaternion" => {x: "double", y: "double", z: "double", w: "double"}},
        "google/type/timeofday" => {"TimeOfDay" => {hours: "int32", minutes: "int32", seconds: "int32", nanos: "int32"}},
        "confluent/meta" => {
          "Meta" => {doc: "string", params: [".confluent.Meta.ParamsEntry"], tags: ["string"]},
          "Meta.ParamsEntry" => {key: "string", value: "string"}
        }
      }.freeze
      # Options of Confluent's: what is extended → the option's name. All of the same type and number.
      OPTIONS = {
        "File" => "file_meta", "Message" => "message_meta", "Field" => "field_meta", "Enum" => "enum_meta", "EnumValue" => "enum_value_meta"
      }.freeze
      OPTION_NUMBER = 1088
      IMPORTS = {
        ".google.protobuf.FloatValue" => "wrappers", ".google.protobuf.Duration" => "duration", ".google.protobuf.Timestamp" => "timestamp"
      }.freeze
      private_constant :WELL_KNOWN, :COMMON, :OPTIONS, :OPTION_NUMBER, :IMPORTS

      class << self
        # @param name [String] as it is imported
        # @return [Google::Protobuf::FileDescriptorProto, nil] nil: it is none of these
        def find(name)
          path = name.delete_suffix(".proto")
          return if path == name
          return well_known(path) if path.start_with?("google/protobuf/")

          common(path) if COMMON.key?(path)
        end

        private

        def well_known(path)
          type = WELL_KNOWN[path.delete_prefix("google/protobuf/")] or return
          require "#{path}_pb"
          Google::Protobuf.const_get(type).descriptor.file_descriptor.to_proto
        end

        def common(path)
          types = COMMON.fetch(path)
          package = path[%r{\A(.+)/}u, 1].tr("/", ".")
          file = Google::Protobuf::FileDescriptorProto.new(name: "#{path}.proto", package:, syntax: "proto3", dependency: imports(types))
          types.each { |name, fields| fields.is_a?(Array) ? file.enum_type << enum(name, fields) : add_message(file, name, fields) }
          add_options(file) if path == "confluent/meta"
          file
        end

        def imports(types)
          named = types.values.grep(Hash).flat_map(&:values).flatten.filter_map { |type| IMPORTS[type.split.last] }
          named.uniq.map { |file| "google/protobuf/#{file}.proto" }
        end

        def enum(name, values)
          Google::Protobuf::EnumDescriptorProto.new(name:, value: values.each_with_index.map { |value, number| {name: value, number:} })
        end

        def add_message(file, name, fields)
          outer, inner = name.split(".")
          kinds = fields.values.grep(String).filter_map { |type| type[/\Ain (\w+)/u, 1] }.uniq
          message = Google::Protobuf::DescriptorProto.new(name: inner || outer, oneof_decl: kinds.map { |kind| {name: kind} },
            field: fields.each_with_index.map { |(field, type), index| {name: field.to_s, number: index + 1, **described(type, kinds)} })
          message.options = Google::Protobuf::MessageOptions.new(map_entry: true) if name.end_with?("Entry")
          inner ? file.message_type.find { |type| type.name == outer }.nested_type << message : file.message_type << message
        end

        def described(type, kinds)
          label = type.is_a?(Array) ? :LABEL_REPEATED : :LABEL_OPTIONAL
          kind, name = Array(type).first.match(/\A(?:in (\w+) )?(\S+)\z/u).captures
          shape = name.start_with?(".") ? {type: :TYPE_MESSAGE, type_name: name} : {type: :"TYPE_#{name.upcase}"}
          {label:, **shape, **(kind ? {oneof_index: kinds.index(kind)} : {})}
        end

        def add_options(file)
          file.dependency << "google/protobuf/descriptor.proto"
          OPTIONS.each do |extended, name|
            file.extension << Google::Protobuf::FieldDescriptorProto.new(name:, number: OPTION_NUMBER, label: :LABEL_OPTIONAL,
              type: :TYPE_MESSAGE, type_name: ".confluent.Meta", extendee: ".google.protobuf.#{extended}Options")
          end
        end
      end
    end
  end
end
