# frozen_string_literal: true

module Guildhall
  class Avro
    class Schema
      # The Parsing Canonical Form of the specification, and the fingerprint of it. By JSON.generate: Active Support's `to_json`
      # escapes more, and works in the main Ractor only.
      # @api private
      module CanonicalForm
        EMPTY = 0xc15d213aa4d7a795
        TABLE = Array.new(256) do |byte|
          8.times.inject(byte) { |value, _| (value >> 1) ^ (EMPTY & -(value & 1)) }
        end.freeze
        private_constant :EMPTY, :TABLE

        def self.of(type, seen = {})
          return ::JSON.generate(type.name) if type.named? && seen[type.name]

          seen[type.name] = true if type.named?
          case type.kind
          when :array then %({"type":"array","items":#{of(type.items, seen)}})
          when :map then %({"type":"map","values":#{of(type.items, seen)}})
          when :union then "[#{type.branches.map { |branch| of(branch, seen) }.join(",")}]"
          when *Type::NAMED then %({"name":#{::JSON.generate(type.name)},"type":"#{type.kind}",#{rest(type, seen)}})
          else ::JSON.generate(type.kind.to_s)
          end
        end

        # @return [Integer] CRC-64-AVRO
        def self.fingerprint(bytes)
          bytes.each_byte.inject(EMPTY) { |value, byte| (value >> 8) ^ TABLE[(value ^ byte) & 0xff] }
        end

        def self.rest(type, seen)
          case type.kind
          when :fixed then %("size":#{type.size})
          when :enum then %("symbols":[#{type.symbols.map { |symbol| ::JSON.generate(symbol) }.join(",")}])
          else
            fields = type.fields.map { |field| %({"name":#{::JSON.generate(field.name)},"type":#{of(field.type, seen)}}) }
            %("fields":[#{fields.join(",")}])
          end
        end
        private_class_method :rest
      end
    end
  end
end
