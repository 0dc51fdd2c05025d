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

# Loaded when one of them is first named.
module Guildhall
  {Template: "template", Templates: "templates", TemplateError: "template/errors", SafeString: "template/safe_string"}.each do |name, file|
    autoload(name, File.expand_path("guildhall/#{file}.rb", __dir__))
  end
end
