# frozen_string_literal: true

module Guildhall
  VERSION = "0.1.0"
end
