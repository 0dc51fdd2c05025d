# frozen_string_literal: true

module Guildhall
  module Shareable
    # What a task has returned, on its way out.
    class Result
      # These can be copied, or frozen, and must not be.
      NEVER = [IO, Proc].freeze
      private_constant :NEVER

      # @param value [Object]
      # @param task [#call, nil]
      def initialize(value, task)
        @value = value
        @task = task
      end

      # @return [Object] the value where it is shareable, else a copy that is
      # @raise [NotShareableError]
      def shared
        refuse(*never) if never
        Ractor.make_shareable(@value, copy: true)
      rescue NotShareableError
        raise
      rescue StandardError # each kind of object has its own way to say no
        refuse(*culprit(@value, "result"))
      end

      private

      # @return [Array(String, Object), nil]
      def never
        @never ||= find(@value, "result", {}.compare_by_identity)
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
        Ractor.make_shareable(part, copy: true)
        true
      rescue StandardError
        false
      end

      def refuse(path, culprit)
        error = NotShareableError.new("#{path} of #{Inspection.name_of(@task)} cannot leave its Ractor: it is " \
                                      "#{Shareable.article(Shareable.type_of(culprit))}; return data", path:)
        Pipeline.mark(error, @task.names.last) if defined?(Pipeline) && @task.is_a?(Pipeline)
        raise error
      end
    end
    private_constant :Result
  end
end
