# frozen_string_literal: true

module Guildhall
  class Avro
    class Schema
      # A field of a record.
      Field = Data.define(:name, :type, :default, :aliases) do
        def default? = default != NO_DEFAULT
      end

      # Means that there is no default; nil is one.
      NO_DEFAULT = :no_default
    end
  end
end
