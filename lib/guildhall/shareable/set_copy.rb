# frozen_string_literal: true

module Guildhall
  module Shareable
    # @api private
    # A copy of an object in which the Sets are shareable ones already: Ruby 4.0 copies no Set that it has to freeze elements of.
    class SetCopy
      def initialize
        @begun = {}.compare_by_identity
      end

      # @param object [Object] not changed
      # @return [Object] the object itself where it is shareable, or holds itself
      def of(object)
        return object if Ractor.shareable?(object) || @begun[object]

        @begun[object] = true
        rebuilt(object).tap { @begun.delete(object) }
      end

      private

      def rebuilt(object)
        return object.with(**object.to_h.transform_values { of(it) }) if Data === object

        made = object.clone(freeze: false)
        made.instance_variables.each { |name| made.instance_variable_set(name, of(made.instance_variable_get(name))) }
        with_elements(made)
      end

      def with_elements(made)
        case made
        when Array then made.map! { of(it) }
        when Hash then with_pairs(made)
        when Struct then made.each_pair { |member, value| made[member] = of(value) }
        when Set then frozen_elements(made)
        else made
        end
      end

      def with_pairs(hash)
        pairs = hash.map { |key, value| [of(key), of(value)] }
        pairs.each_with_object(hash.clear) { |(key, value), made| made[key] = value }
      end

      def frozen_elements(made)
        elements = made.map { Ractor.make_shareable(of(it), copy: true) }
        Ractor.make_shareable(made.clear.merge(elements))
      end
    end
    private_constant :SetCopy
  end
end
