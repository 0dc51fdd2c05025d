# frozen_string_literal: true

module Guildhall # rubocop:disable Style/Documentation
  # What stands in the place of a payload that a `select` left out: one frozen, shareable object, so that nil
  # can be a result.
  DROPPED = Object.new
  def DROPPED.inspect = "Guildhall::DROPPED"
  def DROPPED.to_s = inspect
  Ractor.make_shareable(DROPPED)
end
