# frozen_string_literal: true

require "test_helper"
require "support/cost_program"

# A payload of n bytes costs at most c × n steps and c × n bytes of memory, whatever is in it and whatever is done with it: counted,
# not timed (test/support/cost). The long form is test/stress/cost_stress_test.rb.
class CostTest < GuildhallTest
  include CostProgram

  def self.apart? = true

  def test_json = assert_rows({"json_rows" => "JSONRows"})
  def test_message_pack = assert_rows({"msgpack_rows" => "MessagePackRows"})
  def test_avro = assert_rows({"avro_rows" => "AvroRows"})
  def test_text = assert_rows({"text_rows" => "TextRows"})
  def test_schema = assert_rows({"schema_rows" => "SchemaRows"})

  # What grows faster is seen, in Ruby and in C; what does not, is not.
  def test_the_rule
    found = faults_of({"cost_examples" => "Examples"}).transform_keys { |row| row[/\w[\w ]*\z/] }.transform_values { |fault| fault && fault[/\A(grows faster|takes more than)/] }
    assert_equal({"in Ruby" => "grows faster", "copies" => "grows faster", "comparisons" => "grows faster", "memory" => "takes more than", "encode of elements" => nil}, found)
  end
end
