# frozen_string_literal: true

require_relative "extension"

Guildhall::Extension.load("guildhall", __dir__)
