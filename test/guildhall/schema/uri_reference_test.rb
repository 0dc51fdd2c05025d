# frozen_string_literal: true

require "test_helper"
require "guildhall/schema"

# The examples of RFC 3986, section 5.4, and what schemas use besides.
class SchemaUriReferenceTest < GuildhallTest
  BASE = "http://a/b/c/d;p?q"
  EXAMPLES = {
    "g:h" => "g:h", "g" => "http://a/b/c/g", "./g" => "http://a/b/c/g", "g/" => "http://a/b/c/g/", "/g" => "http://a/g", "//g" => "http://g",
    "?y" => "http://a/b/c/d;p?y", "g?y" => "http://a/b/c/g?y", ";x" => "http://a/b/c/;x", "" => "http://a/b/c/d;p?q", "." => "http://a/b/c/",
    ".." => "http://a/b/", "../g" => "http://a/b/g", "../.." => "http://a/", "../../g" => "http://a/g", "../../../g" => "http://a/g",
    "/../g" => "http://a/g", "g..h" => "http://a/b/c/g..h", "./g/." => "http://a/b/c/g/", "g/./h" => "http://a/b/c/g/h",
    "g;x=1/../y" => "http://a/b/c/y", "g?y/../x" => "http://a/b/c/g?y/../x"
  }.freeze

  def resolve(reference, base = BASE) = Guildhall::Schema.const_get(:UriReference).resolve(reference, base)

  def test_examples_of_the_rfc
    EXAMPLES.each { |reference, uri| assert_equal [uri, ""], resolve(reference), reference }
  end

  def test_the_fragment_is_apart_and_decoded
    assert_equal ["http://a/b/c/g", "/a b/ü"], resolve("g#/a%20b/%C3%BC")
    assert_equal [BASE, "s"], resolve("#s")
  end

  def test_schemes_without_an_authority
    assert_equal ["urn:isbn:1", "x"], resolve("urn:isbn:1#x", "")
    assert_equal ["urn:isbn:1", "x"], resolve("#x", "urn:isbn:1")
  end

  def test_a_base_without_a_path
    assert_equal ["http://a/g", ""], resolve("g", "http://a")
    assert_equal ["other.json", ""], resolve("other.json", "")
  end

  def test_a_fragment_that_is_no_text
    error = assert_raises(Guildhall::SchemaError) { resolve("#/%FF") }
    assert_equal "#/%FF is not a URI reference: its fragment is not UTF-8", error.message
  end
end
