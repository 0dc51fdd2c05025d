# frozen_string_literal: true

require "test_helper"
require "support/avro_tool"
require "tmpdir"
require "guildhall/avro"

# Container files of other languages' libraries: those that are kept in test/fixtures/avro, and where a library is installed, new ones;
# and whether it reads ours.
class AvroContainerOtherToolsTest < GuildhallTest
  extend AvroTool::Tests

  Container = Guildhall::Avro::Container
  KEPT = Dir[AvroTool.in_folder("*.avro")].freeze

  def test_there_is_a_file_for_each_compression_of_each_tool
    wanted = AvroTool::ALL.flat_map { |tool| tool.compressions.map { |compression| "#{tool.name}_#{compression}.avro" } }
    assert_equal ["like_fastavro_deflate.avro", *wanted].sort, KEPT.map { |path| File.basename(path) }.sort
  end

  KEPT.each do |path|
    define_method(:"test_reads_#{File.basename(path, ".avro")}") { assert_reads(path) }
  end

  test_with_each_tool("reads_what_is_written_now_by") do |tool|
    Dir.mktmpdir do |folder|
      run_tool(tool, "write", folder, AvroTool::SCHEMA)
      written = Dir[File.join(folder, "*.avro")]
      assert_equal tool.compressions.sort, written.map { |path| path[/_(\w+)\.avro\z/, 1] }.sort
      written.each { |path| assert_reads(path) }
    end
  end

  test_with_each_tool("writes_what_is_read_by") do |tool|
    Dir.mktmpdir do |folder|
      tool.compressions.each do |compression|
        path = File.join(folder, "#{compression}.avro")
        File.open(path, "wb") { |file| Container.write(file, File.read(AvroTool::SCHEMA), AvroTool::OBJECTS, compression:, block_bytes: 1_000) }
        read = run_tool(tool, "read", path).lines.map { |line| JSON.parse(line.force_encoding(Encoding::UTF_8)) }
        assert_equal AvroTool::OBJECTS, read, compression
      end
    end
  end

  private

  def assert_reads(path)
    File.open(path, "rb") { |file| assert_equal AvroTool::OBJECTS, Container.each(file).to_a, path }
    blocks = File.open(path, "rb") { |file| Container::Reader.new(file).each_block.to_a }
    assert_operator blocks.map(&:count).reject(&:zero?).size, :>, 1, path
    assert_equal AvroTool::OBJECTS, blocks.flat_map(&:objects), path
  end

  def run_tool(tool, *arguments)
    out, err, status = run_command([*tool.command, *arguments], timeout: 300, env: tool.environment)
    assert_predicate status, :success?, "#{tool.name} #{arguments.join(" ")}\n#{out}\n#{err}"
    out
  end
end
