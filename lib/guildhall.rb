# frozen_string_literal: true

require_relative "guildhall/version"
require_relative "guildhall/errors"
require_relative "guildhall/shareable"
require_relative "guildhall/instrumentation"
require_relative "guildhall/pipeline"
