# frozen_string_literal: true

require "test_helper"
require "guildhall/pool"

# Ruby keeps `$~` of a block in the variables around it. A block that several Ractors share must not share these.
class PoolMatchingTest < GuildhallTest
  PROGRAM = <<~RUBY
    require "guildhall/pool"
    require "guildhall/json"
    require "guildhall/pipeline"
    class Task
      def initialize(suffix) = @suffix = suffix
      def block = ->(text) { text =~ /\\d+/ ? [$~[0], text.gsub(/[a-z]/) { |one| one.upcase + @suffix }, text[/\\w\\d/]] : nil }
    end
    plain = ->(text) { text =~ /\\d+/ ? [$~[0], text.gsub(/[a-z]/) { |one| one.upcase + "!" }, text[/\\w\\d/]] : nil }
    pool = Guildhall::Pool.new(workers: 3)
    payloads = Array.new(6000) { |n| "item\#{n}" }
    expected = payloads.map { |text| [text.delete("a-z"), text.gsub(/[a-z]/) { |one| one.upcase + "!" }, text[/\\w\\d/]] }
    tasks = [plain, Ractor.make_shareable(Task.new("!")).block, Guildhall.map(&plain) >> Guildhall.select { |found| found[0] =~ /\\d/ }]
    tasks.each { |task| 4.times { raise "wrong" unless pool.map(payloads, task, slice: 20) == expected } }
    puts "right"
  RUBY

  def test_blocks_that_match_may_run_in_several_workers_at_once
    skip "Ruby 3.4 cannot give each worker a block of its own" if RUBY_VERSION < "4"
    assert_equal "right\n", assert_ruby(PROGRAM)
  end
end
