# frozen_string_literal: true

module Guildhall
  class Avro
    # One branch of a union, by name. Given to `encode`, it says which branch is meant; `decode` gives one for each record of
    # a union where the codec has `tagged_unions: true`.
    #
    #     codec.encode(Guildhall::Avro::Branch.new("shop.OrderPaid", {"id" => 7}))
    Branch = Data.define(:name, :value) do
      # Reads on in the value, so that paths lead through a union as they do without tags.
      def [](...) = value.[](...)

      def dig(...) = value.dig(...)
    end
  end
end
