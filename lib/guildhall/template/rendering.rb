# frozen_string_literal: true

require_relative "../pool"
require_relative "locals"

module Guildhall
  class Template # rubocop:disable Style/Documentation -- is in template.rb
    # What pools can do with templates, once `guildhall/templates` is loaded.
    module Rendering
      MAX_REMEMBERED = 64 # sets of templates
      private_constant :MAX_REMEMBERED

      # Renders a template once for each of many locals, in parallel where that is faster.
      #
      #     pool.render(mail, users.map { |user| {name: user.name} })
      #
      # Locals are shared as payloads are: what is shareable goes as it is, the rest is copied. Blocks until all are done.
      # @param locals [Enumerable<Hash>] one for each rendering
      # @param options [Hash] see {Pool#results}: `timeout:`, `progress:`, `parallel:`, …; not `metadata:`, `records:`
      # @return [Array<String, Failure>] frozen, in order; Failures in place
      # @raise [Guildhall::ArgumentError] if it is not a template, or not a list of locals; naming every option that is wrong
      # @raise [TimeoutError]
      def render(template, locals, **options)
        Pool::Options.check!(options, Pool::Options::RENDER)
        needed(template)
        render_one(shared(listed(locals)), template, options)
      end

      # Renders different templates at once, as one batch.
      #
      #     pool.render_all([[mail, {name: "Ada"}], [report, {rows: rows}]])
      #
      # @param options [Hash] see {#render}
      # @return [Array<String, Failure>] frozen, in order; Failures in place
      # @raise see {#render}
      def render_all(pairs, **options)
        Pool::Options.check!(options, Pool::Options::RENDER)
        pairs = listed(pairs, "pairs must be a list of [template, locals]")
        templates = pairs.map { |template, _| needed(template) }
        list = shared(pairs.map { |_, locals| locals })
        pairs = templates.zip(list).each(&:freeze)
        templates.uniq!
        return render_one(list, templates.first, options) if templates.size == 1

        render_any(pairs, any_of(templates), options) || render_each(pairs, options)
      end

      private

      def shared(list)
        index = -1
        list.map do |locals|
          index += 1
          Ractor.shareable?(locals) ? locals : Locals.share(locals, "locals[#{index}]")
        end
      end

      def needed(template)
        return template if template.is_a?(Template)

        raise Guildhall::ArgumentError, "a Guildhall::Template is needed, not #{Shareable.article(Shareable.type_of(template))}"
      end

      def listed(list, expected = "locals must be a list of Hashes, one for each rendering")
        return list.each_entry.to_a if list.is_a?(Enumerable) && !list.is_a?(Hash) # a CSV::Table's to_a has the headers, too

        raise Guildhall::ArgumentError, "#{expected}, not #{Shareable.article(Shareable.type_of(list))}"
      end

      # One object for the same templates, whatever their order: the pool knows then what they cost.
      def any_of(templates)
        @any_of ||= {}
        templates = templates.sort_by(&:object_id)
        @any_of.shift if @any_of.size >= MAX_REMEMBERED && !@any_of.key?(templates)
        @any_of[templates] ||= AnyOf.new(templates)
      end

      # A template that a worker has refused before fails, and the batch does not.
      def render_one(list, template, options)
        results(list, template, **options)
      rescue IsolationError => error
        Array.new(list.size) { |index| Failure.of(error, index) }.freeze
      end

      # @return [Array<String, Failure>, nil] nil: a worker has refused one of the templates, and all of them with it
      def render_any(pairs, task, options)
        outcomes = results(pairs, task, **options)
        @registry[task] if outcomes.any?(Failure)
        outcomes
      rescue IsolationError
        nil
      end

      # Only the refused one fails.
      def render_each(pairs, options)
        outcomes = Array.new(pairs.size)
        pairs.each_index.group_by { |index| pairs[index].first }.each do |template, indexes|
          render_one(indexes.map { |index| pairs[index].last }, template, options).zip(indexes) do |outcome, index|
            outcomes[index] = outcome.is_a?(Failure) ? outcome.with(index:) : outcome
          end
        end
        outcomes.freeze
      end
    end

    # @api private
    # Several templates as one task of the pool: each payload says which one, and with which locals. Frozen and shareable.
    class AnyOf
      def initialize(templates)
        @templates = templates.dup.freeze
        freeze
      end

      # @raise see {Template#render}
      def call(pair)
        pair[0].call(pair[1])
      end

      def inspect = "any of #{@templates.map(&:name).join(", ")}"
    end
    private_constant :AnyOf

    Pool.include(Rendering)
  end
end
