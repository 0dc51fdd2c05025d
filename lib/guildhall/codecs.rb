# frozen_string_literal: true

# All codecs, and schemas. Those that need a gem which may be missing are loaded when they are first named; name them
# (or require "guildhall/csv", "guildhall/yaml") before workers start.
require_relative "codec"
require_relative "json"
require_relative "msgpack"
require_relative "avro"
require_relative "schema"
require_relative "text"

module Guildhall # rubocop:disable Style/Documentation
  autoload :CSV, File.expand_path("csv.rb", __dir__)
  autoload :Protobuf, File.expand_path("protobuf.rb", __dir__)
  autoload :YAML, File.expand_path("yaml.rb", __dir__)
end
