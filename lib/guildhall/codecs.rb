# frozen_string_literal: true

# All codecs.
require_relative "codec"
require_relative "json"
