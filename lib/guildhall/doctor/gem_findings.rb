# frozen_string_literal: true

module Guildhall
  class Doctor # rubocop:disable Style/Documentation
    # The words for what is in a gem, which its user cannot change.
    module GemFindings
      private

      def found_in_gem(name, value, place)
        _, culprit = Shareable.find(value)
        freezable = Shareable.remedy(culprit).nil? && freezable?(value)
        find(name, place, "is #{Shareable.article(Shareable.type_of(value))} that is not shareable",
          freezable ? "#{FREEZE}(#{name}) before the pool starts" : CALL_ELSEWHERE)
      end

      # What the analyser advises is for those who can change the code.
      def in_gem(place, advice)
        Origin.at(place.first)&.instead || (advice.start_with?(FREEZE) ? advice : CALL_ELSEWHERE)
      end

      def freezable?(value)
        Ractor.make_shareable(value, copy: true)
        true
      rescue StandardError # each kind of object has its own way to say no
        false
      end
    end

    FREEZE = "call Ractor.make_shareable"
    CALL_ELSEWHERE = "call it in the main Ractor, or use something else in the task"
    private_constant :FREEZE, :CALL_ELSEWHERE
  end
end
