# frozen_string_literal: true

require "test_helper"
require "support/c_program"

# The index of a large map's keys, in C alone: no seed makes numbered keys dear to find.
class KeyIndexTest < GuildhallTest
  include CProgram

  def test_numbered_keys_are_found_with_few_comparisons_under_each_seed
    Dir.mktmpdir do |folder|
      program = File.join(folder, "probe")
      compile(program, [File.expand_path("../../support/key_index_probe.c", __dir__), File.join(EXTENSION, "document/key_index.c")], ["-I#{EXTENSION}"])
      out, err, status = run_command([program], timeout: 300)
      assert_predicate status, :success?, out + err
      assert_equal "done\n", out
    end
  end
end
