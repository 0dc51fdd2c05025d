# frozen_string_literal: true

require "test_helper"
require "guildhall/suggestion"

class SuggestionTest < GuildhallTest
  def test_what_was_meant
    assert_equal "; did you mean workers?", Guildhall::Suggestion.for(:wrokers, %i[workers capacity])
    assert_equal "; did you mean orders?", Guildhall::Suggestion.for("order", %w[orders payments])
  end

  # Of several names that are alike, the one with the fewest changes.
  def test_the_nearest_of_several
    assert_equal "; did you mean deserializer?", Guildhall::Suggestion.for("deserialiser", %w[deserializers deserializer deserializing])
    assert_equal "; did you mean deserializers?", Guildhall::Suggestion.for("deserialisers", %w[deserializer deserializers deserializing])
  end

  # As of Karafka's `pause.timeout`.
  def test_the_first_word_of_several
    names = %i[kafka pause_timeout pause_max_timeout paused]
    assert_equal "; did you mean pause_timeout or pause_max_timeout?", Guildhall::Suggestion.for(:pause, names - [:paused])
    assert_equal "; did you mean paused?", Guildhall::Suggestion.for(:pause, names)
  end

  def test_nothing_is_near
    assert_equal "", Guildhall::Suggestion.for("x", %w[orders])
    assert_equal "", Guildhall::Suggestion.for("x", [])
  end
end
