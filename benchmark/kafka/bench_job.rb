# frozen_string_literal: true

require "active_job"
require_relative "stopwatch"

ActiveJob::Base.logger = Logger.new(File::NULL)
I18n.locale # a class variable that is first assigned while Ractors run can crash Ruby 4.0

# The job of both contenders: empty, or a millisecond of waiting.
class BenchJob < ActiveJob::Base
  PAUSE = ARGV[3] == "io" ? 0.001 : nil
  STOPWATCH = Stopwatch.new(Integer(ARGV[2]))

  def perform(number)
    STOPWATCH.start
    sleep(PAUSE) if PAUSE
    STOPWATCH.add(1, number)
  end
end
