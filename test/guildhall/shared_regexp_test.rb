# frozen_string_literal: true

require "test_helper"
require "prism"

# Regular expressions that several Ractors match have an encoding of their own: Ruby 3.4 crashes else, and 4.0 compiles them for each text.
class SharedRegexpTest < GuildhallTest
  LIBRARY = File.expand_path("../../lib/guildhall", __dir__)
  # What workers run, of texts that came from outside: all of each.
  ON_WORKERS = Dir["#{LIBRARY}/{avro,codec,csv,digits,document,failure,json,msgpack,printable,protobuf,redaction,schema,text,yaml}{.rb,/**/*.rb}"]

  # Finds literals without an encoding, but those that are primed.
  class Search < Prism::Visitor
    attr_reader :found

    def initialize
      super
      @found = []
    end

    def visit_regular_expression_node(node) = note(node)
    def visit_interpolated_regular_expression_node(node) = note(node)

    def visit_call_node(node)
      @found << node.location.start_line if node.receiver&.slice == "Regexp" && node.name == :new
      super unless node.receiver&.slice == "SharedRegexp"
    end

    private

    def note(node)
      own = node.closing.match?(/u/) || node.slice.match?(/\\u|\\p\{ID|[^\x00-\x7f]/)
      @found << node.location.start_line unless own
    end
  end

  PROGRAM = <<~'RUBY'
    require "guildhall"
    Warning[:experimental] = false
    module Reading
      TEXTS = Ractor.make_shareable(["é", "a", "1é", "yé", "z".encode("US-ASCII"), "é".encode("ISO-8859-1"), "on".b, "日本 1:2", ":é"])
      TEXTS.each { |text| text.encode("UTF-8") } # Ruby 3.4 can hang if another Ractor loads a converter
      def self.call(schema, path)
        500.times do |number|
          text = TEXTS[number % TEXTS.size]
          schema.valid?({"name" => text, "é#{text.encode("UTF-8")}" => 1})
          Guildhall::YAML.decode(Guildhall::YAML.encode({"a" => text, "é" => [text, number]}))
          path.of({"names" => [text]}).to_a
        end
      end
    end
    20.times do |round|
      schema = Guildhall::Schema.new({"properties" => {"name" => {"pattern" => "^[a-z#{round}]+$"}}, "patternProperties" => {"^[xyz]" => {}}}).validator
      path = Guildhall::JSON::Path.new("$.names[?match(@, '[a-z]#{round}*')]")
      Array.new(3) { Ractor.new(schema, path) { |*given| Reading.call(*given) } }.each { |ractor| ractor.respond_to?(:value) ? ractor.value : ractor.take }
    end
    print("done")
  RUBY

  def test_texts_of_several_encodings_in_several_ractors
    assert_equal "done", assert_ruby(PROGRAM)
  end

  def test_literals_have_an_encoding
    found = ON_WORKERS.to_h do |file|
      search = Search.new
      Prism.parse_file(file).value.accept(search)
      [file.delete_prefix("#{LIBRARY}/"), search.found]
    end

    refute_empty found
    assert_empty(found.reject { |_, lines| lines.empty? })
  end

  def test_a_pattern_matches_texts_of_any_encoding
    schema = Guildhall::Schema.new({"pattern" => "^.$"}).validator

    ["é", "é".encode("ISO-8859-1"), "é".encode("UTF-16LE"), "e".b].each { |text| assert schema.valid?(text), text.encoding.to_s }
    ["\xE9".b, "\xE9", "éé".encode("ISO-8859-1")].each { |text| refute schema.valid?(text), text.inspect }
  end

  def test_a_path_matches_texts_of_any_encoding
    path = Guildhall::JSON::Path.new("$[?search(@, 'abc')]")
    texts = ["abcé", "abcé".b, "abcé".encode("ISO-8859-1"), "abc".b]
    assert_equal texts, path.of([*texts, "abé".b, "\xE9".b]).to_a
  end

  # As Ruby's own match?, where that does not raise.
  def test_a_match_of_a_contract_says_what_the_expression_says
    texts = ["é", "é".encode("ISO-8859-1"), "a".b, "a", "é".b, "\xE9".b, "\xFF\x01\x02\x03".b, "Zürich,y".b, "on", "\n"]
    [/\A.\z/, /\A[a-zé]\z/, /\A.\z/u, /\A.{4}\z/m, /\A[^,]+,y\z/, /\A\xE9\z/n, /on/i].each do |regexp|
      contract = Guildhall::Schema.contract { |names| names.required "name", String, match: regexp }.validator
      texts.each do |text|
        expected = ruby_matches?(regexp, text)
        assert_equal expected, contract.valid?({"name" => text}), "#{regexp.inspect} #{text.inspect} #{text.encoding}"
      end
    end
  end

  def test_a_match_of_a_contract_with_an_expression_for_bytes
    contract = Guildhall::Schema.contract { |names| names.required "name", String, match: /on/n }.validator
    ["on", "on\xFF".b, "né on"].each { |text| assert contract.valid?({"name" => text}), text.inspect } # Ruby warns of the last one
  end

  def ruby_matches?(regexp, text)
    regexp.match?(text)
  rescue Encoding::CompatibilityError
    false
  end

  def test_a_match_of_a_contract_with_what_means_nothing_of_bytes
    contract = Guildhall::Schema.contract { |names| names.required "name", String, match: /\A\p{L}\z/ }.validator
    assert contract.valid?({"name" => "é"})
    refute contract.valid?({"name" => "\xE9".b})
    refute contract.valid?({"name" => "\xE9"})
  end
end
