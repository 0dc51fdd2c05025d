# frozen_string_literal: true

require_relative "environment"

# Where the time of the tests goes: seconds, and seconds of computing, by folder, by file, and of the longest tests; from the last run of
# each (see TestTimes).
class TestTimesReport
  SHOWN = 40
  Row = Struct.new(:name, :tests, :seconds, :computing)

  # @param path [String]
  def initialize(path = File.join(Environment::BUILD, "test_times.tsv"))
    @tests = File.exist?(path) ? File.readlines(path, chomp: true).map { |line| line.split("\t") } : []
  end

  def print
    table("folder") { |_, file| file[%r{\Atest/(?:guildhall/kafka|guildhall|integration|\w+)(?=/)}] || "test" }
    table("file") { |_, file| file }
    table("test") { |name,| name }
  end

  private

  def table(title, &group)
    rows = @tests.group_by { |name, _, _, file| group.call(name, file) }.map do |name, tests|
      Row.new(name, tests.size, tests.sum { |test| Float(test[1]) }, tests.sum { |test| Float(test[2]) })
    end
    puts format("%9s %9s %6s  %s", "seconds", "computing", "tests", title)
    rows.sort_by { |row| -row.seconds }.first(SHOWN).each do |row|
      puts format("%9.1f %9.1f %6d  %s", row.seconds, row.computing, row.tests, row.name)
    end
    puts
  end
end
