# frozen_string_literal: true

module Guildhall
  module Shareable
    # The return value of a task, on its way out of its Ractor.
    class Result
      # These can be copied, or frozen, and must not be.
      NEVER = [IO, Proc].freeze
      private_constant :NEVER

      def initialize(value, task)
        @value = value
        @task = task
      end

      # @return [Object] the value where it is shareable, else a copy that is
      # @raise [NotShareableError]
      def shared
        refuse(*find(@value, "result", {}.compare_by_identity)) if never?(@value, {}.compare_by_identity)
        copy(@value)
      rescue NotShareableError
        raise
      rescue StandardError # each kind of object has its own way to say no
        refuse(*culprit(@value, "result"))
      end

      private

      def copy(object)
        Ractor.make_shareable(object, copy: true)
      rescue Ractor::Error
        Ractor.make_shareable(SetCopy.new.of(object), copy: true)
      end

      # Without the names of parts, which take ten times as long to make as a copy.
      def never?(object, seen)
        return false if Ractor.shareable?(object) || seen[object]
        return true if NEVER.any? { |type| type === object }

        seen[object] = true
        members(object).any? { |part| never?(part, seen) }
      end

      def members(object)
        bare = object.instance_variables.empty?
        case object
        when String then return [] if bare
        when Array then return object if bare
        when Hash then return [*object.keys, *object.values, object.default, object.default_proc] if bare
        end
        Shareable.parts(object).map(&:last)
      end

      def find(object, path, seen)
        return if Ractor.shareable?(object) || seen[object]
        return [path, object] if NEVER.any? { |type| type === object }

        seen[object] = true
        Shareable.parts(object).each do |suffix, part|
          found = find(part, "#{path}#{suffix}", seen)
          return found if found
        end
        nil
      end

      # The innermost part that cannot be copied.
      def culprit(object, path, seen = {}.compare_by_identity)
        seen[object] = true
        suffix, part = Shareable.parts(object).find { |_, one| !seen[one] && !shareable_copy?(one) }
        suffix ? culprit(part, "#{path}#{suffix}", seen) : [path, object]
      end

      def shareable_copy?(part)
        copy(part)
        true
      rescue StandardError
        false
      end

      def refuse(path, culprit)
        error = NotShareableError.new("#{path} of #{Inspection.name_of(@task)} cannot leave its Ractor: it is " \
                                      "#{Shareable.article(Shareable.type_of(culprit))}; return data", path:)
        @task.mark_result(error) if @task.respond_to?(:mark_result)
        raise error
      end
    end
    private_constant :Result

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
