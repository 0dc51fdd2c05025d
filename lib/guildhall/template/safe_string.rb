# frozen_string_literal: true

module Guildhall
  # A String that is HTML already: a template that escapes writes it as it is. What a method of String makes of it is an
  # ordinary String, and is escaped.
  class SafeString < String
    # What Rails asks, too.
    # @return [true]
    def html_safe? = true

    # @return [self]
    def to_s = self

    # @return [self]
    def html_safe = self
  end
end
