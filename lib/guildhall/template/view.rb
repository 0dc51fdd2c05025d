# frozen_string_literal: true

require "guildhall/native"
require_relative "safe_string"

module Guildhall
  class Template
    # Self inside a template: a new one for each rendering, so that a template, and its helpers, may set instance variables.
    class View
      include Escaping

      # @api private
      # @param contents [Hash{Symbol=>String}] what {#content_for} has kept, for the layout
      def initialize(contents = {})
        @guildhall_contents = contents
      end

      # The way out of escaping: what is HTML already.
      def raw(value) = SafeString.new(value.to_s)

      # @return [SafeString] escaped for HTML, unless it is safe
      def h(value) = SafeString.new(Escaping.escape(value))
      alias html_escape h

      # Another template of the frozen set that this one was given as `partials:`, or was loaded with.
      # @param locals [Hash] its locals
      # @yield what the partial has where it says `yield`
      # @return [SafeString, String] an ordinary String of a partial that does not escape: this template does so where it writes it
      # @raise [Guildhall::ArgumentError] for a partial that there is not, with those that there are
      def render(name, **locals, &block)
        body = proc { |*arguments| capture(*arguments, &block) } if block
        partial = guildhall_partials[name]
        partial.marked(partial.fill(locals, @guildhall_contents, &body))
      end

      # What the block writes, instead of writing it.
      # @return [SafeString, String] an ordinary String where this template does not escape
      def capture(*)
        from = @guildhall_out.bytesize
        value = yield(*)
        written = guildhall_take(@guildhall_out, from)
        written.empty? && value.is_a?(String) ? guildhall_safe(value) : guildhall_marked(written)
      ensure
        guildhall_take(@guildhall_out, from) unless written # a `break`, or what the block raises
      end

      # Keeps something for the layout, which writes it with `yield :name`. Without a value and a block, answers what was kept.
      # @param value [Object] or a block, of which it is what it writes
      # @return [SafeString, String, nil] nil: nothing was kept, or something is now
      def content_for(name, value = nil, &block)
        kept = @guildhall_contents[name]
        return kept if value.nil? && block.nil?

        value = capture(&block) if value.nil?
        @guildhall_contents[name] = guildhall_joined(kept, guildhall_safe(value))
        nil
      end

      # @return [Boolean] whether something was kept
      def content_for?(name) = @guildhall_contents.key?(name)

      private

      # These two are of `<%= helper do %>`. A helper that only yields answers the whole buffer: what it wrote is there.
      def guildhall_append=(value)
        guildhall_append(@guildhall_out, value) unless value.equal?(@guildhall_out)
      end

      def guildhall_escape=(value)
        guildhall_escape(@guildhall_out, value) unless value.equal?(@guildhall_out)
      end

      def guildhall_safe(value)
        guildhall_escapes? ? SafeString.new(Escaping.escape(value)) : value.to_s
      end

      # What this template wrote is HTML only if it has escaped its values.
      def guildhall_marked(text) = guildhall_escapes? ? SafeString.new(text) : text

      # Templates that escape and others may keep something for the same place.
      def guildhall_joined(kept, value)
        return "#{kept}#{value}" unless kept.is_a?(SafeString) || value.is_a?(SafeString)

        SafeString.new("#{Escaping.escape(kept)}#{Escaping.escape(value)}")
      end
    end
  end
end
