# frozen_string_literal: true

# The whole core; each part can also be required alone.
require_relative "guildhall/version"
require_relative "guildhall/errors"
require_relative "guildhall/shareable"
require_relative "guildhall/instrumentation"
require_relative "guildhall/queue"
require_relative "guildhall/codecs"
require_relative "guildhall/pipeline"
require_relative "guildhall/pool"
