# frozen_string_literal: true

# A bounded queue between Ractors. Run it with:
# ruby examples/queue.rb (in a checkout: bin/rake example[queue])
require "guildhall"

Warning[:experimental] = false
Square = Data.define(:number, :square)
jobs = Guildhall::Queue.new(16)
results = Guildhall::Queue.new(16)
workers = Array.new(2) { Ractor.new(jobs, results) { |from, to| from.each { |number| to << Square.new(number, number**2) } } }
Thread.new { 100.times { |number| jobs << number } && jobs.close }
puts Array.new(100) { results.pop }.sum(&:square)
workers.each { |worker| worker.respond_to?(:join) ? worker.join : worker.take }
