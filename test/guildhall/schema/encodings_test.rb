# frozen_string_literal: true

require "test_helper"
require "guildhall/schema"

# Strings of Hashes may have any encoding: all keywords see the text, in UTF-8.
class SchemaEncodingsTest < GuildhallTest
  TEXTS = %w[Zürich 2026-01-01 é].freeze
  ENCODINGS = %w[UTF-8 ISO-8859-1 UTF-16LE UTF-32BE IBM037].freeze

  def each_text(text)
    ENCODINGS.each { |encoding| yield text.encode(encoding), "#{text} in #{encoding}" }
    yield text.b, "#{text} as bytes"
  end

  def valid?(schema, value) = Guildhall::Schema.new(schema).validator.valid?(value)

  def test_lengths_are_counted_in_characters
    TEXTS.each do |text|
      each_text(text) do |one, place|
        assert valid?({"minLength" => text.size, "maxLength" => text.size}, one), place
        refute valid?({"minLength" => text.size + 1}, one), place
      end
    end
  end

  def test_formats_and_patterns
    each_text("2026-01-01") do |one, place|
      assert valid?({"format" => "date"}, one), place
      assert valid?({"pattern" => "^[0-9-]{10}$"}, one), place
    end
  end

  def test_equal_texts_are_equal
    each_text("é") do |one, place|
      assert valid?({"enum" => ["é"]}, one), place
      assert valid?({"const" => ["é"]}, [one]), place
      refute valid?({"uniqueItems" => true}, ["é", one]), place
      refute valid?({"uniqueItems" => true}, [{"a" => "é"}, {"a" => one}]), place
    end
  end

  def test_names_of_properties
    each_text("é") do |one, place|
      assert valid?({"required" => ["é"]}, {one => 1}), place
      refute valid?({"properties" => {"é" => {"type" => "string"}}}, {one => 1}), place
      assert valid?({"const" => {"é" => 1}}, {one => 1}), place
    end
  end
end
