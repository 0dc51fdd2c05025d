# frozen_string_literal: true

module Guildhall
  class Schema
    module Pattern
      # The parts of an expression. Each answers what it contains (`inner`, an Array) whether it matches the empty text
      # somewhere (`nullable?`), and whether it does so everywhere (`empty?`).

      # One character of a set; `source` is Ruby's expression for it.
      Character = Data.define(:source) do
        def inner = []
        def nullable? = false
        def empty? = false
      end

      # A condition on a place, like `^`.
      Assertion = Data.define(:source) do
        def inner = []
        def nullable? = true
        def empty? = false
      end

      Sequence = Data.define(:inner) do
        def nullable? = inner.all?(&:nullable?)
        def empty? = inner.all?(&:empty?)
      end

      Choice = Data.define(:inner) do
        def nullable? = inner.any?(&:nullable?)
        def empty? = inner.any?(&:empty?)
      end

      # What parentheses capture.
      Group = Data.define(:number, :content) do
        def inner = [content]
        def nullable? = content.nullable?
        def empty? = content.empty?
      end

      Lookaround = Data.define(:behind, :negative, :content) do
        def inner = [content]
        def nullable? = true
        def empty? = false
      end

      # - `most` [Integer, nil] nil: as often as there is
      Repetition = Data.define(:least, :most, :lazy, :content) do
        def inner = [content]
        def nullable? = least.zero? || content.nullable?
        def empty? = least.zero? || content.empty?
        def loop? = most.nil? || most > 1
        def optional? = least.zero? && most == 1
        def never? = !most.nil? && most.zero?
      end

      # - `target` [Integer, String] the number or name of a group
      Reference = Data.define(:target) do
        def inner = []
        def nullable? = true
        def empty? = false
      end
    end
  end
end
