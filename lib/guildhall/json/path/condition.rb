# frozen_string_literal: true

module Guildhall
  class JSON
    class Path
      # A test of one payload: what stands behind the ? of a filter of RFC 9535, with the payload as both `$` and `@`. Compiled once,
      # frozen, shareable.
      #
      #     large = Guildhall::JSON::Path::Condition.new('$.total > 100 && $.items[?@.sku == "A-1"]')
      #     large.true_for?(document)  # => true
      class Condition
        attr_reader :source

        # @param source [String] a comparison (`$.user.email == "a@b.c"`), a path for existence (`$.refund`), `match($.sku, "A-.*")`, or
        #   several of them with `&&`, `||`, `!` and parentheses
        # @raise [Guildhall::ArgumentError] naming the position that is not understood
        def initialize(source)
          text = SharedRegexp.utf8(source) if source.is_a?(String)
          raise Guildhall::ArgumentError, "a condition is a valid String, not #{source.inspect}" unless text

          @source = text.dup.freeze
          @test = Parser.new(@source).condition
          @quick = Quick.of(@test)
          Ractor.make_shareable(self)
        end

        # @param payload [Object] a Document, or what a codec has decoded; other objects are asked for their `to_h`, where they have one
        def true_for?(payload)
          answer = @quick&.answer(payload)
          return answer unless answer.nil?

          payload = plain(payload)
          @test.true_for?(Evaluation.new(payload), payload)
        end

        # @return [String, nil] characters that a JSON text without escapes has to contain for the condition to be true; nil: there are
        #   none
        def literal = @test.literals.max_by(&:bytesize)

        def inspect = "#<#{self.class} #{@source}>"
        alias to_s source

        private

        # Of Protobuf, say.
        def plain(payload)
          case payload
          when nil, Hash, Array, Guildhall::Document then payload
          else payload.respond_to?(:to_h) ? payload.to_h : payload
          end
        end

        # Most conditions compare one member with a literal: a Document answers that without any object but the member.
        Quick = Data.define(:names, :comparison, :literal) do
          # @return [Quick, nil] nil: the test is another one
          def self.of(test)
            return unless test.is_a?(Filter::Comparison) && test.right.is_a?(Filter::Literal) && test.left.is_a?(Filter::Single)

            names = test.left.query.names
            new(names, test, test.right.content) if names&.any?
          end

          # @return [Boolean, nil] nil: it takes the whole test, as where the member is missing
          def answer(payload)
            return unless Guildhall::Document::Map === payload

            value = payload.dig(*names)
            value.nil? ? nil : comparison.holds?(value, literal)
          rescue TypeError # something on the way has no members
            nil
          end
        end
        private_constant :Quick
      end
    end
  end
end
