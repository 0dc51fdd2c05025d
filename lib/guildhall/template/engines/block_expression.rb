# frozen_string_literal: true

module Guildhall
  class Template
    module Engines
      # `<%= helper do |x| %> … <% end %>`, as Rails has it: an assignment takes a value whose block ends in another tag.
      module BlockExpression
        BEGINS = /(?:(?:\s|\))do|\{)\s*(?:\|[^|]*\|)?\s*\z/
        private_constant :BEGINS

        # @param code [String] of one tag
        # @return [Boolean] whether a block begins in it, and ends elsewhere
        def self.begins?(code) = BEGINS.match?(code)

        # @param writer [String] :guildhall_append or :guildhall_escape
        # @return [String] that code, with what it answers written
        def self.write(writer, code) = "self.#{writer} = #{code}"
      end
    end
  end
end
