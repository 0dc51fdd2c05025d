# frozen_string_literal: true

module Guildhall
  class Avro
    # A schema is not one; the message names the place in it.
    class SchemaError < StandardError
      include Error
    end
  end
end
