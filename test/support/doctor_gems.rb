# frozen_string_literal: true

require "test_helper"
require "guildhall"
require "guildhall/doctor"
require "karafka"
require "msgpack"
require "support/schema_in_rust"

# Gems as people use them in a task. What is found is checked against what a Ractor says.
class DoctorGems < GuildhallTest
  module MessagePackTask
    def self.call(bytes) = MessagePack.unpack(bytes)
  end

  module AvroTask
    SCHEMA = '{"type": "record", "name": "R", "fields": [{"name": "a", "type": "int"}]}'
    def self.call(bytes) = Avro::IO::DatumReader.new(Avro::Schema.parse(SCHEMA)).read(Avro::IO::BinaryDecoder.new(StringIO.new(bytes)))
  end

  module JSONSchemerTask
    def self.call(text) = JSONSchemer.schema({"type" => "object"}).valid?(JSON.parse(text))
  end

  module DryValidationTask
    def self.call(text) = contract.new.call(JSON.parse(text)).success?
    def self.contract = Class.new(Dry::Validation::Contract) { params { required(:a).filled(:integer) } }
  end

  module NokogiriTask
    def self.call(text) = Nokogiri::HTML(text).css("p").size
  end

  # A Struct beside methods in C.
  module DescriptionTask
    def self.call(text) = Nokogiri::HTML4::ElementDescription::Desc.new(text).name
  end

  module OjTask
    def self.call(text) = Oj.load(text)
  end

  module ActiveSupportTask
    def self.call(text) = ActiveSupport::JSON.decode(text)
  end

  module LoggerTask
    def self.call(text) = Logger.new($stderr, level: :fatal).debug(text)
  end

  module SQLiteTask
    def self.call(text) = SQLite3::Database.new(":memory:").execute("SELECT ?", [text])
  end

  module TimeZoneTask
    def self.call(name) = TZInfo::Timezone.get(name).name
  end

  module I18nTask
    def self.call(key) = I18n.t(key, default: "none")
  end

  module SchemaInRustTask
    def self.call(text) = JSONSchema.valid?({"type" => "object"}, JSON.parse(text))
  end

  module SimdTask
    def self.call(text) = Simdjson.parse(text)
  end

  module StandardLibraryTask
    def self.call(text) = [JSON.parse(text), Time.parse("2026-01-01"), URI.parse("http://example.com/a").path, Digest::SHA256.hexdigest(text)]
  end

  module ZstandardTask
    def self.call(text) = Zstd.decompress(Zstd.compress(text))
  end

  module ErubiTask
    def self.call(text) = Erubi::Engine.new(text).src
  end

  JSON_TEXT = '{"a": 1}'
  # Task, what to require, a payload, what is found (nil: it runs), what to do instead.
  TABLE = {
    "msgpack" => [MessagePackTask, "msgpack", "\x81\xA1a\x01".b, /MessagePack::DefaultFactory/, /Guildhall::MessagePack/],
    "avro" => [AvroTask, "avro", "\x02".b, /Avro/, /use Guildhall::Avro/],
    "json_schemer" => [JSONSchemerTask, "json_schemer", JSON_TEXT, /JSONSchemer/, /use Guildhall::Schema/],
    "dry-validation" => [DryValidationTask, "dry-validation", JSON_TEXT, /Dry::Validation/, /use Guildhall::Schema\.contract/],
    "nokogiri" => [NokogiriTask, "nokogiri", "<p>a", /Nokogiri/, /main Ractor/],
    "a Struct of nokogiri's" => [DescriptionTask, "nokogiri", "a"],
    "oj" => [OjTask, "oj", JSON_TEXT],
    "activesupport" => [ActiveSupportTask, "active_support/json", JSON_TEXT, *(RUBY_VERSION < "4.1" ? [/@@parse_json_times/, /use Guildhall::JSON/] : [])],
    "logger" => [LoggerTask, "logger", "x", /Logger::Severity::LEVELS/, /call Ractor\.make_shareable\(Logger::Severity::LEVELS\) before/],
    "sqlite3" => [SQLiteTask, "sqlite3", "x", /SQLite3::Database/, /query it in the main Ractor/],
    "tzinfo" => [TimeZoneTask, "tzinfo", "Europe/Berlin", RUBY_VERSION < "4.1" ? /@@instance/ : /@@default_mutex/, /main Ractor/],
    "i18n" => [I18nTask, "i18n", "a.b", /@@\w+ of I18n::Config/, /main Ractor/],
    "jsonschema_rs" => [SchemaInRustTask, "jsonschema_rs", JSON_TEXT, /JSONSchema\.valid\?/, /use Guildhall::Schema/],
    "simdjson" => [SimdTask, "simdjson", JSON_TEXT, /Simdjson\.parse/, /use Guildhall::JSON/],
    "the standard library" => [StandardLibraryTask, %w[json time uri digest], JSON_TEXT],
    "zstd-ruby" => [ZstandardTask, "zstd-ruby", "x" * 100],
    "erubi" => [ErubiTask, "erubi", "a <%= 1 %>"]
  }.freeze

  TABLE.each do |name, (task, features, payload, thing, advice)|
    next if name == "jsonschema_rs" && !SchemaInRust::THERE

    define_method(:"test_#{name.gsub(/\W/, "_")}") do
      Array(features).each { |feature| require feature }
      report = Guildhall.doctor(task, payloads: [payload])
      next assert_predicate report, :runs?, report unless thing

      refute_predicate report, :runs?
      assert(report.findings.any? { |finding| finding.thing.match?(thing) }, report)
      assert_match advice, report.to_s
      assert(report.findings.all?(&:file), report)
    end
  end

  # Without a payload the analyser alone has to know.
  def test_what_is_written_in_c_is_found_without_a_trial
    require "simdjson"
    tasks = SchemaInRust::THERE ? [SchemaInRustTask, SimdTask] : [SimdTask]
    tasks.each { |task| assert_match(/does not say that it is safe to use in Ractors/, Guildhall.doctor(task).to_s) }
  end

  Message = Data.define(:raw_payload)

  def test_karafkas_default_deserializer
    deserializer = Karafka::Deserializers::Payload.new
    assert_equal(["task"], Guildhall.doctor(deserializer).findings.map(&:thing))
    assert_predicate Guildhall.doctor(deserializer.freeze, payloads: [Message.new(JSON_TEXT)]), :runs?
  end
end
