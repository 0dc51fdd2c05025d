# frozen_string_literal: true

module Guildhall # rubocop:disable Style/Documentation
  # What {DROPPED} is.
  # @api private
  class Dropped
    def inspect = "Guildhall::DROPPED"
    alias to_s inspect

    private

    def respond_to_missing?(*) = false

    # @raise [NoMethodError] that says what this is
    def method_missing(name, *)
      raise NoMethodError.new("undefined method '#{name}' for Guildhall::DROPPED: it marks a payload that a `select` left out; " \
                              "`map` leaves these out, `results` and `each` do not", name, receiver: self)
    end
  end

  # The outcome of a payload that a `select` left out: one frozen, shareable object, so that nil
  # can be a result.
  DROPPED = Ractor.make_shareable(Dropped.new)
  Dropped.singleton_class.undef_method(:new)
end
