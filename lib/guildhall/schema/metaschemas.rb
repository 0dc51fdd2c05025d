# frozen_string_literal: true

module Guildhall
  class Schema
    module Metaschemas
      ALL = {}.freeze
    end
  end
end
