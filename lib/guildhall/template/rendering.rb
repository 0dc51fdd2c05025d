# frozen_string_literal: true

require_relative "../clock"
require_relative "../pool"
require_relative "locals"

module Guildhall
  class Template # rubocop:disable Style/Documentation -- is in template.rb
    # What pools can do with templates, once `guildhall/templates` is loaded.
    module Rendering
      # Renders a template once for each of many locals, in parallel where that is faster.
      #
      #     pool.render(mail, users.map { |user| {name: user.name} })
      #
      # Locals are shared as payloads are: what is shareable goes as it is, the rest is copied. Blocks until all are done.
      # @param template [Template]
      # @param locals [Enumerable<Hash>] one for each rendering
      # @param options [Hash] see {Pool#results}: `timeout:`, `progress:`, `parallel:`, …
      # @return [Array<String, Failure>] frozen, in order; Failures in place
      # @raise [Guildhall::ArgumentError] if it is not a template, or not a list of locals
      # @raise [TimeoutError]
      def render(template, locals, **options)
        results(shared(template, listed(locals)), template, **options)
      end

      # Renders different templates at once.
      #
      #     pool.render_all([[mail, {name: "Ada"}], [report, {rows: rows}]])
      #
      # @param pairs [Enumerable<Array(Template, Hash)>]
      # @param timeout [Numeric, nil] seconds for all of it
      # @param options [Hash] see {Pool#dispatch}
      # @return [Array<String, Failure>] frozen, in order; Failures in place
      # @raise see {#render}
      def render_all(pairs, timeout: nil, **options)
        groups = grouped(pairs)
        return render(groups.keys.first, groups.values.first.map(&:first), timeout:, **options) if groups.size == 1

        futures = groups.map { |template, entries| dispatch(shared(template, entries.map(&:first)), template, **options) }
        await_all(futures, timeout)
        in_order(futures, groups.values.map { |entries| entries.map(&:last) })
      end

      private

      def shared(template, list)
        unless template.is_a?(Template)
          raise Guildhall::ArgumentError, "a Guildhall::Template is needed, not #{Shareable.article(Shareable.type_of(template))}"
        end

        list.each_with_index.map { |locals, index| Locals.share(locals, "locals[#{index}]") }
      end

      def listed(locals)
        return locals.to_a if locals.is_a?(Enumerable) && !locals.is_a?(Hash)

        raise Guildhall::ArgumentError, "locals must be a list of Hashes, one for each rendering, " \
                                        "not #{Shareable.article(Shareable.type_of(locals))}"
      end

      # @return [Hash{Template=>Array<Array(Hash, Integer)>}] locals and their places
      def grouped(pairs)
        groups = {}.compare_by_identity
        listed(pairs).each_with_index do |(template, locals), index|
          (groups[template] ||= []) << [locals, index]
        end
        groups
      end

      def await_all(futures, timeout)
        Clock.within(timeout && (Clock.now + timeout)) { futures.each(&:wait) }
        return if futures.all?(&:ready?)

        futures.each(&:cancel)
        raise TimeoutError, "not all templates were rendered after #{timeout} s; payloads that had not begun are cancelled"
      end

      def in_order(futures, places)
        outcomes = Array.new(places.sum(&:size))
        futures.zip(places) do |future, indexes|
          future.results.zip(indexes) { |outcome, index| outcomes[index] = placed(outcome, index) }
        end
        outcomes.freeze
      end

      def placed(outcome, index)
        outcome.is_a?(Failure) ? outcome.with(index:) : outcome
      end
    end

    Pool.include(Rendering)
  end
end
