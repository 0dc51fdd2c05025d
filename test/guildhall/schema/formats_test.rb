# frozen_string_literal: true

require "test_helper"
require "support/schema_cases"

class SchemaFormatsTest < GuildhallTest
  include SchemaCases

  CASES = {
    "date" => [%w[2024-02-29 0000-01-01 1963-06-19],
               ["2023-02-29", "2024-13-01", "2024-1-1", "20240101", "2024-01-32", "", "2024-01-01 ", "২০২৪-০১-০১"]],
    "time" => [%w[08:30:06Z 08:30:06.283185+00:20 23:59:60Z 15:59:60-08:00 01:29:60+01:30],
               %w[24:00:00Z 08:30:06 22:59:60Z 08:30:06.Z 08:30:06+24:00 8:30:06Z 08:30:06z0]],
    "date-time" => [%w[1963-06-19T08:30:06.283185Z 1990-12-31t23:59:60z 1937-01-01T12:00:27.87+00:20],
                    ["1990-02-31T15:59:59Z", "1990-12-31 15:59:59Z", "2013-350T01:01:01", "1963-06-19T08:30:06", "1998-12-31T23:58:60Z",
                     "2020"]],
    "duration" => [%w[P4DT12H30M5S P4Y PT0S P1M PT1M P2W P1Y2M],
                   ["PT1D", "P", "P1YT", "PT", "4DT12H", "P2D1Y", "P1D2H", "P2S", "P1", "P1W2D", "PT1H\u0000", "P1Y2D"]],
    "email" => [["joe.bloggs@example.com", "te~st@example.com", '"joe bloggs"@example.com', "joe@[127.0.0.1]", "joe@[IPv6:::1]"],
                ["2962", ".test@example.com", "te..st@example.com", "test.@example.com", "joe bloggs@example.com", "joe@[127.0.0.300]",
                 "@example.com", "joe@", '"a\\\\"b"@example.com']],
    "idn-email" => [["실례@실례.테스트", "joe@example.com", '"é\\" "@a', "a@[1.2.3.4]", "a@[IPv6:::1]", "a@[IPv6:1:2:3:4:5:6:7:8]", "a@[IPv6:1::1.2.3.4]"],
                    ["2962", "@", "a@[IPv6:1:2]", "a@[IPv6:1::2::3]", "a@[256.1.1.1]", "a..é@b", '"é@b']],
    "hostname" => [["www.example.com", "xn--4gbwdl.xn--wgbh1c", "a", "1host", "#{"a" * 63}.com"],
                   ["-bad", "bad-", "a..b", "", "under_score", "#{"a" * 64}.com", "a.", ("abcdefghi." * 26) + "abc", "실례"]],
    "idn-hostname" => [%w[실례.테스트 example.com example。com a실-b xn--a.é], ["aé--b", "ab--c.é", "-실례", "a b", "", ".", "。", ("abcdefghi." * 26) + "abc", (["가" * 50] * 6).join("。")]],
    "ipv4" => [%w[192.168.0.1 0.0.0.0 255.255.255.255],
               %w[256.1.1.1 127.0.0 1.2.3.4.5 087.10.0.1 1.2.3.04 0x7f000001 1.2.3.] + [" 1.2.3.4", "1৭.1.1.1"]],
    "ipv6" => [%w[::1 :: ::abef 1:2:3:4:5:6:7:8 ::ffff:192.168.0.1 1::d6:192.168.0.1 2001:db8:: 1:2:3:4:5:6:7::],
               %w[12345:: 1:1:1:1:1:1:1:1:1 ::laptop :2:3:4:5:6:7:8 1::2::3 1:2:3:4:5:6:7 1::2:192.168.256.1 ::1% fe80::a%eth1
                  1:2:3:4:5:6:7:8: 1:2:::3]],
    "uri" => [["http://foo.bar/?baz=qux#quux", "http://-.~_!$&'()*+,;=:%40:80%2f::::::@example.com", "urn:oasis:names", "mailto:a@b.c",
               "http://[::1]:80/", "tel:+1-816",
               "ldap://[2001:db8::7]/c=GB?objectClass?one", "http://[v1.a:b]/"],
              ["//foo.bar", "/abc", "\\\\WINDOWS", "abc", "http:// shouldfail.com", ":// x", "bar,\u0000", "http://a/%zz", "http://[::1",
               "http://a b", "http://ü.de/", "http://a/<b>", "http://a/#a#b", "1http://a"]],
    "uri-reference" => [["", "/abc", "abc", "#frag", "//foo/bar", "?q", "a/b:c", "http://a"],
                        ["\\\\WINDOWS", "#frag\\ment", "1:b", "/a b", "/ü"]],
    "iri" => [["http://ƒøø.ßår/?∂éœ=πîx#πîüx", "http://a"], ["/abc", "http://2001:0db8::1", "\u{1}"]],
    "iri-reference" => [["/âππ", "#ƒrägmênt", ""], ["\\\\WINDOWS", "#ƒräg\\mênt"]],
    "uri-template" => [["http://example.com/dictionary/{term:1}/{term}", "{+path,x*}/here", "{?a,b}", "{x.y}", "a'b", "", "{%20}", "{=a}"],
                       ["http://example.com/{term", "{}", "{a b}", "a}b", "{:1}", "<", "{x:0}", "{x..y}"]],
    "uuid" => [%w[2EB8AA08-AA98-11EA-B4AA-73B441D16380 00000000-0000-0000-0000-000000000000],
               %w[2eb8aa08-aa98-11ea-b4aa-73b441d1638 2eb8-aa08-aa98-11ea-b4aa73b44-1d16380 2eb8aa08aa9811eab4aa73b441d16380----]],
    "json-pointer" => [["", "/", "/foo/bar~0/baz~1/%a", "/ü"], ["foo", "/foo/bar~", "/~2", "#/a"]],
    "relative-json-pointer" => [%w[1 0/foo/bar 2/0/baz 0#], ["/foo", "-1/foo", "+1", "0##", "01/a", "01#", "", "120/~"]],
    "regex" => [["([abc])+\\s+$", "^\\p{L}$", "(?<a>x)\\k<a>"], ["^(abc]", "\\a", "a**", "(?>a)"]]
  }.freeze

  CASES.each_key do |name|
    class_eval(<<~RUBY, __FILE__, __LINE__ + 1)
      def test_#{name.tr("-", "_")} = check("#{name}") # def test_date = check("date")
    RUBY
  end

  def test_says_nothing_about_what_is_no_string
    CASES.each_key { |name| assert_valid({"format" => name}, 1, nil, [], {}) }
  end

  def test_unknown_formats_are_ignored
    assert_valid({"format" => "shoe-size"}, "anything")
  end

  def test_formats_can_be_switched_off
    assert_valid({"format" => "date"}, "anything", formats: false)
  end

  def test_formats_of_ones_own
    formats = {"shoe-size" => Even, "date" => Even}
    assert_valid({"format" => "shoe-size"}, "42", 43, formats:)
    assert_invalid({"format" => "shoe-size"}, "43", formats:)
    assert_valid({"format" => "date"}, "42", formats:)
  end

  # As a user would write one.
  module Even
    def self.call(string) = string.to_i.even?
  end

  private

  def check(name)
    valid, invalid = CASES.fetch(name)
    assert_valid({"format" => name}, *valid)
    assert_invalid({"format" => name}, *invalid)
  end
end
