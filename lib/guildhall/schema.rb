# frozen_string_literal: true

require_relative "errors"
require_relative "shareable"
require_relative "json"
require "guildhall/native"
require_relative "schema/limit_error"
require_relative "schema/numbers"
require_relative "schema/messages"
require_relative "schema/error_detail"
require_relative "schema/validator"
require_relative "schema/uri_reference"
require_relative "schema/pointer"
require_relative "schema/formats"
require_relative "schema/pattern"
require_relative "schema/metaschemas"
require_relative "schema/dialect"
require_relative "schema/source"
require_relative "schema/options"
require_relative "schema/location"
require_relative "schema/resources"
require_relative "schema/keywords"
require_relative "schema/type_mask"
require_relative "schema/compilation"
require_relative "schema/cycles"
require_relative "schema/compiler"
require_relative "schema/contract"

module Guildhall
  # A JSON Schema, draft 2020-12, 2019-09, 07, 06 or 04, compiled once into frozen, shareable validators that run in C:
  #
  #     schema = Guildhall::Schema.new(File.read("event.json"))
  #     schema.validator.valid?(document)
  #     Guildhall::JSON.lazy >> schema.validator >> Summary.new
  #
  # A validator walks a JSON Document without making Ruby objects of what is valid, and Hashes and Arrays as well.
  # Compiling takes milliseconds and belongs to the start of the program; any Ractor may compile and validate.
  class Schema
    private_constant :Compiler, :Cycles, :Dialect, :Keywords, :TypeMask, :Resources, :Messages, :Metaschemas, :Numbers, :Pattern,
      :Location, :Pointer, :Program, :Source, :Compilation

    attr_reader :options

    # @param source [Hash, String, true, false, JSON::Document] the schema; a String is JSON. Copied, never changed.
    # @param options [Hash] see {Options}
    # @raise [SchemaError] when it is not a valid schema, naming where and why
    # @raise [Guildhall::ArgumentError] naming every option that is wrong
    # @raise [NotShareableError] for a format or keyword that cannot be shared between Ractors
    def initialize(source, **options)
      @options = Options.new(**options)
      @resources = Resources.new(Source.read(source), @options)
      Ractor.make_shareable(self)
    end

    # A schema written in Ruby.
    # @see Contract
    def self.contract(...)
      Contract.schema(...)
    end

    # Compiles a validator: of the whole schema, or of a part.
    # @param at [String] which part: a reference like those in `$ref`, `"#/$defs/user"`, `"#anchor"` or a URI
    # @param all [Boolean] whether {Validator#call} answers every error or, sooner, the first
    # @raise [SchemaError] when a part it needs is not a valid schema or not to be found
    def validator(at: "#", all: false)
      resources = @resources.dup
      location = resources.resolve(Source.text(at, "at"), resources.root)
      Validator.new(Compiler.new(resources, @options).program(location), all:)
    end

    # For tests of schemas: keywords that say nothing, because the draft ignores what stands beside `$ref` (up to draft-07; ajv 8 does not)
    # or does not have them. Of this schema alone, not of documents in the registry.
    # @return [Array<String>] their locations: `"#/properties/user/required"`
    def ignored = @resources.ignored

    def inspect
      "#{"#<#{self.class} #{@options.uri}".rstrip}>"
    end
  end
end
