# frozen_string_literal: true

module Guildhall
  # Finds what could have been meant by a name that does not exist. Any Ractor may call it.
  # @api private
  module Suggestion
    # @param name [#to_s] what was written
    # @param names [Array<#to_s>] those that exist
    # @return [String] "; did you mean NAME?", or nothing
    def self.for(name, names)
      return "" unless defined?(DidYouMean::SpellChecker)

      likely = DidYouMean::SpellChecker.new(dictionary: names.map(&:to_s)).correct(name.to_s)
      found = likely.min_by { |one| DidYouMean::Levenshtein.distance(one, name.to_s) } # the longer one of two is not the likelier
      found ? "; did you mean #{found}?" : ""
    end
  end
end
