# frozen_string_literal: true

require "test_helper"

# Each part in a fresh Ruby brings what it is allowed to bring, and nothing else of ours.
class LoadingTest < GuildhallTest
  BASE = %w[callable clock digits dropped error_boundary errors growing_pauses inspection instrumentation native option_rules printable redaction shareable
            shared_regexp suggestion utf8_file version].freeze
  JSON = [*BASE, "codec", "document", "json"].freeze
  MESSAGE_PACK = [*BASE, "codec", "document", "msgpack"].freeze
  AVRO = [*BASE, "codec", "document", "avro", "schema_registry", "shared_cache", "soft_dependency"].freeze
  CODECS = [*JSON, *MESSAGE_PACK, *AVRO, "codecs", "schema", "text"].uniq.freeze
  PIPELINE = [*CODECS, "pipeline"].freeze
  POOL = [*PIPELINE, "queue", "pool", "task", "failure", "native_threads"].freeze
  # A part and the first folder or file below guildhall/ of all that may come with it.
  PERMITTED = {
    "errors" => BASE, "shareable" => BASE, "instrumentation" => BASE,
    "queue" => [*BASE, "queue", "striped_queue"],
    "codecs" => CODECS,
    "json" => JSON,
    "msgpack" => MESSAGE_PACK,
    "avro" => AVRO,
    "schema_registry" => [*BASE, "schema_registry", "shared_cache"],
    "schema" => [*JSON, "schema"],
    "text" => [*BASE, "codec", "text"],
    "csv" => [*BASE, "codec", "document", "text", "soft_dependency", "csv"],
    "yaml" => [*BASE, "codec", "document", "text", "soft_dependency", "yaml"],
    "pipeline" => PIPELINE,
    "pool" => POOL,
    "template" => [*POOL, "template"],
    "templates" => [*POOL, "template", "templates"],
    "doctor" => [*POOL, "doctor"],
    "advisor" => [*POOL, "advisor", "text_table"],
    "chart" => ["chart"],
    "leak_check" => [*BASE, "leak_check"],
    "cli" => [*POOL, "cli", "text_table"],
    "kafka/metrics/statsd" => [*BASE, "kafka", "soft_dependency"],
    "kafka/metrics/prometheus" => [*BASE, "kafka", "soft_dependency"],
    "kafka/metrics/open_telemetry" => [*BASE, "kafka", "soft_dependency"],
    "kafka" => [*POOL, "kafka", "text_table"],
    "karafka" => [*POOL, "karafka", "soft_dependency"]
  }.freeze
  SCRIPT = <<~'RUBY'
    $VERBOSE = true
    def Warning.warn(text, **) = text.match?(%r{/lib/guildhall/.*circular}) ? abort(text) : super
    before = $LOADED_FEATURES.dup
    require "guildhall/#{ARGV[0]}"
    puts ($LOADED_FEATURES - before).filter_map { |path| path[%r{/guildhall/(.+)\.\w+\z}, 1] }
  RUBY

  PERMITTED.each_key do |part|
    class_eval(<<~RUBY, __FILE__, __LINE__ + 1)
      def test_#{part.tr("/", "_")}_loads_alone = assert_alone("#{part}") # def test_queue_loads_alone = assert_alone("queue")
    RUBY
  end

  LATE = <<~'RUBY'
    Warning[:experimental] = false
    other = Ractor.new { Ractor.receive }
    begin
      require "guildhall/striped_queue"
      Guildhall::Queue.new(1).push(:item)
      Guildhall::StripedQueue.new(2, stripes: 2)
    rescue ThreadError => error
      print error.message
    end
    other << 1
  RUBY

  def test_beside_other_ractors
    message = RUBY_VERSION < "4" ? "require guildhall before the first Ractor" : "a StripedQueue needs guildhall to be loaded before"
    assert_match(/\A#{message}/, assert_ruby(LATE))
  end

  private

  def assert_alone(part)
    loaded = assert_ruby(SCRIPT, part).split.map { |path| path.sub(%r{\A.*/guildhall/}, "") }
    assert_includes loaded, part
    extra = loaded.map { |path| path[%r{\A[^/]+}] }.uniq - PERMITTED.fetch(part)
    assert_empty extra, "guildhall/#{part} also brought #{extra.join(", ")}"
  end
end
