# frozen_string_literal: true

module Guildhall
  class Doctor
    # The words for what is in a gem, which its user cannot change.
    module GemFindings
      private

      # What the analyser advises is for those who can change the code.
      def in_gem(place, advice)
        Origin.at(place.first)&.instead || (advice.include?(Inspection::FREEZE) ? advice : Inspection::CALL_ELSEWHERE)
      end
    end
  end
end
