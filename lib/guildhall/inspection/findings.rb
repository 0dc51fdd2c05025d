# frozen_string_literal: true

module Guildhall
  class Inspection
    # One thing that a task's code touches and a worker may not.
    #
    # @!attribute [r] thing
    #   @return [String] `RATES`, `$logger`, `@@count`, `@cache`, `self` …
    # @!attribute [r] file
    #   @return [String, nil] nil: it is about an object, not about code
    # @!attribute [r] problem
    #   @return [String] "is a Hash that is not shareable"
    # @!attribute [r] advice
    #   @return [String] what to change
    Finding = Data.define(:thing, :file, :line, :problem, :advice) do
      # @return [String, nil] "file:line"
      def place = file && [file, line].compact.join(":")

      def to_s = "#{thing}#{" (#{place})" if place} #{problem}; #{advice}"
    end

    # The words for what a visitor finds. Each returns nil: nothing is known of the value then.
    module Findings
      private

      def find(thing, (file, line), problem, advice)
        @findings << Finding.new(thing: thing.to_s, file:, line:, problem:, advice:)
        nil
      end

      def found_unshareable(thing, value, place, advice)
        find(thing, place, "is #{Shareable.article(Shareable.type_of(value))} that is not shareable", advice)
      end

      # @param home [Constants::Home] who can change it is asked to, and who cannot to freeze it
      def found_constant(name, value, place, home)
        advice = other_than_freezing(value)
        return found_unshareable(home.name, value, place, advice || freezing(home.name, value)) if foreign?(home)

        found_unshareable(name, value, place, advice || "make it so: #{name[/\w+\z/]} = #{FREEZE}(…)")
      end

      # @return [String, nil] for what cannot be frozen, or does not work then: it, or a part of it
      def other_than_freezing(value)
        return "use Guildhall.logger, which workers can share" if defined?(::Logger) && ::Logger === value

        Shareable.all(value).each do |_, part|
          advice = keeps_state?(part) ? OF_EACH_WORKER : Shareable.remedy(part)
          return advice if advice
        end
        nil
      end

      def keeps_state?(part)
        (Hash === part && part.default_proc) || (defined?(::Monitor) && ::Monitor === part)
      end

      def foreign?(home) = home.file.nil? || library?(home.file)

      # Tried on a copy.
      def freezing(name, value)
        Ractor.make_shareable(value, copy: true)
        "call #{FREEZE}(#{name}) before the pool starts"
      rescue TypeError # which not everything has that can be frozen
        "try #{FREEZE}(#{name}) before the pool starts; if that raises, #{CALL_ELSEWHERE}"
      rescue StandardError # each kind of object has its own way to say no
        CALL_ELSEWHERE
      end

      def found_global(name, place)
        find(name, place, "is a global variable, which workers cannot reach",
          "hand its value over: in the payload, in a frozen constant, or as an argument of the task")
      end

      def found_class_variable(name, place)
        find(name, place, "is a class variable, which workers cannot reach", OF_ALL)
      end

      def found_write(owner, name, place)
        find("#{name} of #{Inspection.label(owner)}", place,
          "is set here, and workers cannot set variables of a #{owner.class.name.downcase}",
          "use a frozen constant, or #{OF_EACH_WORKER.delete_prefix("use ")}")
      end

      def found_self(mine, thing, place)
        find(thing, place, "#{NEEDS_SELF} (#{Shareable.article(mine.object.class)}), which is not shareable",
          "hand over what is needed in local variables, or freeze self")
      end

      # Such as `BigDecimal("1.1")`.
      def found_undefined(name, place)
        find("#{name}(…)", place, "is not defined yet",
          "load what defines it, `require \"#{name.downcase}\"` say, before the task is dispatched")
      end

      def found_timeout(place)
        find("Timeout.timeout", place, "does not work in a worker on Ruby #{RUBY_VERSION}", "use the pool's `deadline:`, or Ruby 4.0")
      end

      def found_fiber(place)
        find("Fiber.new", place, "can end the process in a worker on Ruby #{RUBY_VERSION}", "do without Fibers, or use Ruby 4.0")
      end

      def found_match(name, place)
        find("a regular expression with `#{name}`", place,
          "is in a block, and Ruby #{RUBY_VERSION} crashes when several workers match there",
          "use `match?`, a module with `call`, or Ruby 4.0")
      end

      def found_flip_flop(place)
        find("a flip-flop", place, "is in a block, and on Ruby #{RUBY_VERSION} workers share its state",
          "use a variable, a module with `call`, or Ruby 4.0")
      end

      def found_pool(object, name, place)
        find("#{Inspection.label(object)}.#{name}", place, "is called in a task, and pools live in the main Ractor",
          "return the value, and continue there")
      end

      def found_define_method(method, place)
        find("#{method.name} of #{Inspection.label(method.owner)}", place, BLOCK_METHOD, "use def")
      end
    end

    OF_ALL = "use a frozen constant; if it counts or collects: return the value, and add up in the caller (`pool.reduce`), " \
             "or use `pipeline.measured`"
    OF_EACH_WORKER = "use Guildhall::Task.per_worker for what each worker is to keep"
    FREEZE = "Ractor.make_shareable"
    CALL_ELSEWHERE = "call it in the main Ractor, or use something else in the task"
    NEEDS_SELF = "needs self"
    BLOCK_METHOD = "was made by define_method of a block, which workers cannot call"
  end
end
