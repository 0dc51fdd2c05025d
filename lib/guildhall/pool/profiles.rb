# frozen_string_literal: true

module Guildhall
  class Pool
    # The profiles of the tasks that a pool has seen, found by the task's identity; the oldest is forgotten first.
    class Profiles
      MOST = 512

      def initialize
        @known = {}.compare_by_identity
        @lock = Mutex.new
      end

      # @param task [#call]
      # @return [Profile]
      # @raise [NotShareableError] naming the path to what cannot be shared
      # @raise [Guildhall::ArgumentError] for what cannot be called
      def [](task)
        @known[task] || @lock.synchronize { @known[task] ||= remember(task) }
      end

      # @return [Array<Profile>]
      def to_a
        @lock.synchronize { @known.values }
      end

      private

      def remember(task)
        raise Guildhall::ArgumentError, "a task needs `call`; a #{task.class} has none" unless task.respond_to?(:call)

        callable = Shareable.callable!(task, "task")
        @known.shift if @known.size >= MOST
        build(callable)
      end

      def build(task)
        codec, rest = parts(task)
        address = codec&.native_decoder
        metadata = Callable.takes_metadata?(address && rest ? rest : task)
        stage = task.names.first if address && task.respond_to?(:names)
        Profile.build(task, metadata, codec, address, rest, stage, preparer(task))
      end

      # A pipeline answers `prepare` for its codec, whether or not that one does.
      def preparer(task)
        of = task.respond_to?(:decoder) && task.decoder ? task.decoder : task
        of if of.respond_to?(:prepare)
      end

      # A codec first, which may be native, and what comes after it.
      def parts(task)
        return [task, nil] if task.respond_to?(:native_decoder)
        return [task.decoder, task.rest] if task.respond_to?(:decoder) && task.decoder

        [nil, nil]
      end
    end
  end
end
