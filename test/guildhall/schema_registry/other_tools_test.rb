# frozen_string_literal: true

require "test_helper"
require "support/confluent_node"
require "tempfile"
require "guildhall/avro"
require "guildhall/json/confluent"

# Payloads of other tools: those that are kept in test/fixtures/confluent, and where the tools are installed, new ones; and whether they
# read ours. `KEEP=1` keeps what they have written.
class SchemaRegistryOtherToolsTest < GuildhallTest
  Metadata = Data.define(:headers)

  def setup
    @server = ConfluentNode.registry
    @registry = Guildhall::SchemaRegistry.new(@server.url, retries: 0)
  end

  def teardown
    @server.close
  end

  def test_reads_what_was_kept
    kept = ConfluentNode.unpacked(JSON.parse(File.read(ConfluentNode::KEPT)))
    assert_equal ConfluentNode::CASES.map(&:name).sort, kept.keys.sort
    assert_reads(kept)
  end

  def test_reads_what_is_written_now
    written = node("write", ConfluentNode::CASES.map { |one| {**common(one), value: ConfluentNode.packed(one.value)} })
    File.write(ConfluentNode::KEPT, "#{JSON.pretty_generate(ConfluentNode.packed(written))}\n") if ENV["KEEP"]
    assert_reads(written)
  end

  def test_writes_what_is_read
    read = node("read", ConfluentNode::CASES.map do |one|
      codec = codec(one, topic: one.topic)
      {**common(one), payload: ConfluentNode.packed(codec.encode(one.value)), headers: ConfluentNode.packed(codec.headers)}
    end)
    ConfluentNode::CASES.each { |one| assert_equal one.value, read.fetch(one.name), one.name }
  end

  private

  def assert_reads(written)
    ConfluentNode::CASES.each do |one|
      payload, headers = written.fetch(one.name).values_at("payload", "headers")
      [codec(one), codec(one).lazy].each do |codec|
        assert_equal one.value, codec.call(payload, Metadata.new(headers)), one.name
      end
    end
  end

  def codec(one, **)
    place = one.header ? :headers : :payload
    return Guildhall::JSON::Confluent.new(@registry, validate: true, schema_id: place, **) if one.schema.type == "JSON"

    Guildhall::Avro::Confluent.new(@registry, schema_id: place, **)
  end

  def common(one) = {name: one.name, tool: one.tool, format: one.schema.type, topic: one.topic, id: one.schema.id, header: one.header}

  def node(command, cases)
    packages = ConfluentNode.missing and skip("Node's serializers are not here: #{packages}")
    Tempfile.create("cases") do |file|
      file.write(JSON.generate({url: @server.url, cases:}))
      file.close
      out, err, status = run_command(["node", File.join(ConfluentNode::FOLDER, "serdes.js"), command, file.path], timeout: 120,
        env: {"NODE_PATH" => ConfluentNode::MODULES})
      assert_predicate status, :success?, "#{out}\n#{err}"
      ConfluentNode.unpacked(JSON.parse(out.dup.force_encoding(Encoding::UTF_8)))
    end
  end
end
