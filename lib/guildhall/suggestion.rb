# frozen_string_literal: true

module Guildhall
  # Finds what could have been meant by a name that does not exist. Any Ractor may call it.
  # @api private
  module Suggestion
    # @param name [#to_s] what was written
    # @param names [Array<#to_s>] those that exist
    # @return [String] "; did you mean NAME?", with all that begin with that word where no single name is near; or nothing
    def self.for(name, names)
      found = [*nearest(name.to_s, names.map(&:to_s))]
      found = names.select { |one| one.start_with?("#{name}_") } if found.empty?
      found.any? ? "; did you mean #{found.join(" or ")}?" : ""
    end

    def self.nearest(name, names)
      return unless defined?(DidYouMean::SpellChecker)

      likely = DidYouMean::SpellChecker.new(dictionary: names).correct(name)
      likely.min_by { |one| DidYouMean::Levenshtein.distance(one, name) } # the longer one of two is not the likelier
    end
    private_class_method :nearest
  end
end
