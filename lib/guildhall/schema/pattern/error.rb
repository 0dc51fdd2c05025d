# frozen_string_literal: true

module Guildhall
  class Schema
    module Pattern
      # The expression is not valid, or Ruby cannot express it.
      class Error < StandardError
        include Guildhall::Error
      end
    end
  end
end
