# frozen_string_literal: true

module Guildhall
  # A String that is HTML already: a template that escapes writes it as it is. It is frozen, because what is appended to it later would
  # not be escaped either. What a method of String makes of it, `dup` and `+` among them, is an ordinary String, and is escaped.
  class SafeString < String
    def initialize(html = "")
      super
      freeze
    end

    # What Rails asks, too.
    def html_safe? = true

    def to_s = self

    def html_safe = self

    # @return [String] unfrozen, and not safe
    def +@ = String.new(self)
    alias dup +@

    # Ruby's own answers one of this class that is not frozen.
    # @return [String] as of an ordinary String
    def encode(...) = dup.encode(...)

    # @api private
    def marshal_dump = dup

    # @api private
    def marshal_load(html) = initialize(html)

    # @param freeze [Boolean, nil] false: as {#dup}
    def clone(freeze: nil) = freeze == false ? dup : self
  end
end
