# frozen_string_literal: true

# The whole core; each part can also be required alone.
require_relative "guildhall/version"
require_relative "guildhall/errors"
require_relative "guildhall/shareable"
require_relative "guildhall/instrumentation"
require_relative "guildhall/soft_dependency"
require_relative "guildhall/queue"
require_relative "guildhall/codecs"
require_relative "guildhall/columns"
require_relative "guildhall/pipeline"
require_relative "guildhall/pool"
require_relative "guildhall/railtie" if defined?(Rails::Railtie)

# What is loaded when it is first named, and the way to the tools of another gem.
module Guildhall
  {Template: "template", Templates: "templates", TemplateError: "template/errors", SafeString: "template/safe_string"}.each do |name, file|
    autoload(name, File.expand_path("guildhall/#{file}.rb", __dir__))
  end

  # Tools for development, which come with the gem guildhall-tools.
  TOOLS = %i[Advisor Chart Doctor LeakCheck LeakError].freeze
  # What has to be required by itself.
  PARTS = {Kafka: "guildhall/kafka", Karafka: "guildhall/karafka", Web: "guildhall/web"}.freeze
  private_constant :TOOLS, :PARTS

  # An application that requires its gems by itself need not require the tools.
  # @raise [MissingDependencyError] for a tool, without the gem guildhall-tools
  # @raise [NameError] that says what to require
  def self.const_missing(name)
    if PARTS.key?(name)
      hint = "require \"#{PARTS[name]}\" first" # on a line of its own: `safe_constantize` looks for the name at a line's end
      raise NameError.new("uninitialized constant Guildhall::#{name}\n#{hint}", name, receiver: self)
    end
    return super unless TOOLS.include?(name)

    SoftDependency.require!("guildhall/tools", gem: "guildhall-tools", purpose: "Guildhall::#{name}")
    const_get(name)
  end

  # Explains why an object cannot be used by workers: the path to what is not shareable, and what its methods touch that only the
  # main Ractor may. With payloads it tries the task in a Ractor, too. Loads what the object's code names. Blocks. Main Ractor.
  # @param object [#call, Module, Object] a task, a module whose methods are to be read, or data
  # @param payloads [Array] samples for a task
  # @param stress [Integer, nil] the number of Ractors that call the task at once, in its own process: finds extensions that crash or
  #   answer differently then
  # @return [Doctor::Report]
  # @raise [Guildhall::ArgumentError] for stress without payloads
  # @raise [WrongRactorError] outside the main Ractor
  # @raise [MissingDependencyError] without the gem guildhall-tools
  def self.doctor(object, payloads: [], stress: nil)
    Guildhall::Doctor.new(object, payloads:, stress:).examine
  end
end
