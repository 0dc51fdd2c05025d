# frozen_string_literal: true

require_relative "set_copy"

module Guildhall
  module Shareable
    # What a task has returned, on its way out.
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
  end
end
