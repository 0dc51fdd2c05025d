# frozen_string_literal: true

require "guildhall/schema"
require "json"

# Verdicts on Ruby values and on Documents of the same, which are two walks of one algorithm.
module SchemaCases
  # @param schema [Hash, true, false]
  # @return [Guildhall::Schema::Validator]
  def validator(schema, at: "#", **options)
    Guildhall::Schema.new(schema, **options).validator(at:)
  end

  # A scalar stands in an array as a Document: a scalar text is no Document.
  def assert_valid(schema, *values, **options)
    each_form(schema, values, options) do |validator, value, form|
      assert validator.valid?(value), "#{schema} should accept #{form}: #{validator.errors(value).join("; ")}"
      assert_empty validator.errors(value)
    end
  end

  def assert_invalid(schema, *values, **options)
    each_form(schema, values, options) do |validator, value, form|
      refute validator.valid?(value), "#{schema} should not accept #{form}"
      refute_empty validator.errors(value), "#{form} has no errors by #{schema}"
      assert_equal validator.errors(value).first, validator.error(value)
    end
  end

  private

  def each_form(schema, values, options)
    plain = validator(schema, **options)
    wrapped = wrapped_validator(schema, options)
    values.each do |value|
      yield plain, value, "#{value.inspect} (value)"
      text = JSON.generate([value])
      yield wrapped, Guildhall::JSON.document(text), "#{text} (document)"
      if value.is_a?(Hash) || value.is_a?(Array)
        yield plain, Guildhall::JSON.document(JSON.generate(value)), "#{value.inspect} (whole document)"
      end
    end
  end

  def wrapped_validator(schema, options)
    inner = "urn:inner"
    registry = {**options.fetch(:registry, {}), inner => schema}
    items = options.fetch(:draft, "2020-12") == "2020-12" ? {"prefixItems" => [{"$ref" => inner}]} : {"items" => {"$ref" => inner}}
    validator(items, **options, registry:)
  end
end
