# frozen_string_literal: true

require_relative "../document"

module Guildhall
  class JSON
    # A JSON object or array that is read where it lies: frozen, shareable, one object for the garbage collector
    # however large the text is. A field is made when it is asked for, and made again when it is asked for again.
    #
    # Neither a Hash nor an Array: {ObjectDocument} and {ArrayDocument} read like them, and become them by an
    # explicit `to_h` or `to_a`.
    class Document
      include Guildhall::Document

      # @!method source
      #   @return [String, nil] the bytes it was read from; nil where duplicate keys were left out

      # @!method detach
      #   @return [Document] the same contents with bytes of its own: for a small part that is kept long, which would
      #     keep the whole text alive

      # @param path [String, Path] a JSONPath such as `$.items[*].sku`; made once with {Path} where it is used often
      # @return [Array] frozen: every value it leads to
      def path(path)
        (path.is_a?(Path) ? path : Path.new(path)).of(self)
      end

      # The bytes it was read from, as {JSON.encode} copies them; not where they are not strict JSON, where Active Support is
      # loaded (it escapes what HTML must not contain), or where another form is asked for, as by JSON.pretty_generate.
      def to_json(*arguments)
        as_written?(*arguments) ? AS_READ.encode(self) : super
      end

      private

      def as_written?(state = nil, *)
        return false if defined?(::ActiveSupport::ToJsonWithActiveSupportEncoder)

        state.nil? || (state.respond_to?(:object_nl) && !state.allow_nan? && !state.ascii_only? && !state.script_safe? &&
          [state.indent, state.space, state.space_before, state.object_nl, state.array_nl].all?(&:empty?))
      end
    end
  end
end
