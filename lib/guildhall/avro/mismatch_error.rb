# frozen_string_literal: true

require_relative "schema_error"

module Guildhall
  class Avro
    # What was written with one schema cannot be read with the other; the message names the place.
    class MismatchError < SchemaError; end
  end
end
