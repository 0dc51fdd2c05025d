# frozen_string_literal: true

module Guildhall
  class Pool
    # Knowledge about one code, shared by all tasks that are made of it and by all Ractors. When a worker meets what only the main
    # Ractor may touch, it refuses the code: its payloads fail from then on, wherever they would run.
    # @api private
    class TaskCode
      # Ruby raises these in workers only, and a RuntimeError with the message below.
      MAIN_ONLY = [::Ractor::IsolationError, ::Ractor::UnsafeError].freeze
      UNSHAREABLE_METHOD = "defined with an un-shareable Proc in a different Ractor"
      MAX_CAUSES = 5
      private_constant :MAIN_ONLY, :UNSHAREABLE_METHOD, :MAX_CAUSES

      # Called in a worker with what a payload raised. Returns the same Failure.
      def judge(error, failure)
        if main_only?(error)
          report(failure) if refuse(failure)
        else
          tried
        end
        failure
      end

      def check!
        standing == :refused ? raise(IsolationError.refused(self)) : self
      end

      def inspect
        "#<Guildhall::Pool::TaskCode #{name} #{standing}>"
      end

      private

      def main_only?(error, causes = MAX_CAUSES)
        return false if error.nil? || causes.zero?

        MAIN_ONLY.any? { |kind| kind === error } || unshareable_method?(error) || main_only?(error.cause, causes - 1)
      end

      # A RuntimeError of Ruby's own: exceptions of other classes are not asked, whose methods may raise or return anything.
      def unshareable_method?(error)
        RuntimeError.equal?(error.class) && error.message.b.include?(UNSHAREABLE_METHOD)
      end

      def report(failure)
        Guildhall.logger.warn("guildhall: #{name} cannot run on workers, and is refused from now on: #{failure.message} (#{failure.place})")
      end
    end
  end
end
