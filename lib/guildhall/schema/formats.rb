# frozen_string_literal: true

require_relative "../shared_regexp"

module Guildhall
  class Schema
    # The formats that are rare in payloads, by regular expressions. The others are checked in C: ext/guildhall/schema/format.c.
    # @api private
    module Formats
      # Names of hosts beyond ASCII. Full stops as they are written in Chinese and Japanese count as dots. Any letter beyond ASCII is
      # taken for one that IDNA allows: its tables of Unicode are not kept here. Two hyphens in the third place mark an encoding, of
      # which "xn" is the only one.
      dots = '.\u3002\uff0e\uff61'
      letter = "A-Za-z0-9[^\\x00-\\x7f#{dots.delete(".")}]" # Ruby warns of a full stop, which is ASCII, beside ASCII
      plain = "(?![^#{dots}]{64})(?:(?![^#{dots}]{2}--)|(?=[xX][nN]--[^#{dots}]))[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?=[#{dots}]|\\z)"
      label = "(?:#{plain}|(?![^#{dots}]{60})(?![^#{dots}]{2}--)[#{letter}](?:[-#{letter}]*[#{letter}])?)"
      hostname = "(?=[^@]{1,253}\\z)#{label}(?:[#{dots}]#{label})*"
      # Mailboxes of RFC 6531.
      byte = '(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)'
      ipv4 = "#{byte}(?:\\.#{byte}){3}"
      ends = [*(0..5).map { |groups| "(?:\\h{1,4}:){#{5 - groups}}(?:\\h{1,4}:\\h{1,4}|#{ipv4})" }, '\h{1,4}', ""] # RFC 3986, 3.2.2
      gaps = ends.each_with_index.map { |rest, groups| "#{"(?:(?:\\h{1,4}:){0,#{groups - 1}}\\h{1,4})?" if groups.positive?}::#{rest}" }
      ipv6 = ["\\h{1,4}:#{ends.first}", *gaps].join("|")
      atom = "[A-Za-z0-9!#\\$%&'*+\\-/=?^_`{|}~[^\\x00-\\x7f]]+"
      quoted = "\"(?:[ !\\x23-\\x5b\\x5d-\\x7e[^\\x00-\\x7f]]|\\\\[\\x20-\\x7e[^\\x00-\\x7f]])*\""
      mailbox = "(?:#{atom}(?:\\.#{atom})*|#{quoted})@(?:\\[(?:#{ipv4}|IPv6:(?:#{ipv6}))\\]|#{hostname})"
      # Pointers of RFC 6901.
      pointer = "(?:/(?:[^~/]|~[01])*)*"
      # Durations of ISO 8601 as RFC 3339 gives their grammar: units in this order and without gaps ("P1Y2D" has one).
      days = '(?:\d+Y(?:\d+M(?:\d+D)?)?|\d+M(?:\d+D)?|\d+D)'
      time = 'T(?:\d+H(?:\d+M(?:\d+S)?)?|\d+M(?:\d+S)?|\d+S)'

      REGEXPS = Ractor.make_shareable(
        {
          "idn-hostname" => hostname, "idn-email" => mailbox, "json-pointer" => pointer,
          "relative-json-pointer" => "(?:0|[1-9]\\d*)(?:#|#{pointer})", "duration" => "P(?:\\d+W|#{days}(?:#{time})?|#{time})"
        }.transform_values { |source| SharedRegexp.of("\\A(?:#{source})\\z") }
      )
    end
  end
end
