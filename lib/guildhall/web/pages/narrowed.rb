# frozen_string_literal: true

module Guildhall
  class Web
    module Pages
      # Tables that can be narrowed by a text: `?q=`.
      module Narrowed
        private

        # @return [String, nil]
        def wanted = @request.text("q")

        # @yieldparam row [Object]
        # @yieldreturn [Array<Object>] what of it may be looked for
        # @return [Array] the rows of which a text contains what is wanted, in whatever case; nothing is wanted: all
        def narrow(rows)
          text = wanted&.downcase or return rows
          rows.select { |row| yield(row).any? { |one| one.to_s.scrub.downcase.include?(text) } }
        end
      end
    end
  end
end
