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
  {Template: "template", Templates: "templates", TemplateError: "template/errors", SafeString: "template/safe_string",
   Doctor: "doctor", LeakCheck: "leak_check", Advisor: "advisor", Chart: "chart"}.each do |name, file|
    autoload(name, File.expand_path("guildhall/#{file}.rb", __dir__))
  end

  # Explains why an object cannot be used by workers: the path to what is not shareable, and what its methods touch that only the
  # main Ractor may. With payloads it tries the task in a Ractor, too. Loads what the object's code names. Blocks. Main Ractor.
  # @param object [#call, Module, Object] a task, a module whose methods are to be read, or data
  # @param payloads [Array] samples for a task
  # @param stress [Integer, nil] the number of Ractors that call the task at once, in its own process: finds extensions that crash or
  #   answer differently then
  # @raise [Guildhall::ArgumentError] for stress without payloads
  # @raise [WrongRactorError] outside the main Ractor
  def self.doctor(object, payloads: [], stress: nil)
    Doctor.new(object, payloads:, stress:).examine
  end
end
