# frozen_string_literal: true

module DoctorExamples
  class Autoloading
    module DoctorLater
      TIMES = 2
    end
  end
end
