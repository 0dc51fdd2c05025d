# frozen_string_literal: true

require "test_helper"
require "guildhall/schema_registry"

class SchemaRegistryPausesTest < GuildhallTest
  def test_they_double_up_to_a_limit
    pauses = Guildhall::SchemaRegistry::Pauses.new(1.0, 7.0)
    assert_equal [1.0, 2.0, 4.0, 7.0, 7.0], (1..4).reduce([pauses.after(nil)]) { |all, _| [*all, pauses.after(all.last)] }
    assert Ractor.shareable?(pauses)
  end
end
