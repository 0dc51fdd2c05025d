# frozen_string_literal: true

module Guildhall
  class Schema
    # Validation stopped without a verdict: it would have taken more work than `work_limit:` allows, a regular
    # expression more time than `regexp_timeout:`, or schema and value are nested too deep.
    class LimitError < StandardError
      include Error
    end
  end
end
