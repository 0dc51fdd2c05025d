# frozen_string_literal: true

require "guildhall/json"
require_relative "../support/document_churn"

# Blocks of memory of Documents that are gone are used again, and no more of them are kept than is said.
class DocumentMemoryTest < GuildhallTest
  def test_what_is_used_again_was_free
    assert DocumentChurn.unharmed?(300, 1)
  end

  def test_ractors_use_each_others_blocks
    out = assert_ruby(<<~RUBY, options: ["-W:no-experimental"])
      require "#{__dir__}/../support/document_churn"
      ractors = Array.new(4) { |seed| Ractor.new(seed) { |it| DocumentChurn.unharmed?(150, it) } }
      print ractors.map { |ractor| ractor.respond_to?(:value) ? ractor.value : ractor.take }
    RUBY
    assert_equal "[true, true, true, true]", out
  end

  def test_a_child_process_goes_on
    reader, writer = IO.pipe
    child = fork do
      writer.write(DocumentChurn.unharmed?(30, 2).to_s)
      exit!
    end
    writer.close
    assert_equal "true", reader.read
  ensure
    Process.wait(child)
    reader.close
  end

  def test_memory_goes_back_beyond_a_bound
    skip "AddressSanitizer keeps what is freed for a while" unless ENV.fetch("GUILDHALL_SANITIZE", "").empty?
    grown = assert_ruby(<<~RUBY).to_i
      require "guildhall/json"
      memory = -> { File.read("/proc/self/statm").split[1].to_i * 4096 }
      text = "[\#{(["1"] * 200_000).join(",")}]"
      Guildhall::JSON.document(text)
      before = memory.call
      Array.new(150) { Guildhall::JSON.document(text) }.clear
      GC.start
      print memory.call - before
    RUBY
    assert_operator grown, :<, 140_000_000, "240 MB were taken"
  end
end
