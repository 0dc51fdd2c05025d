# frozen_string_literal: true

# Active Job on Karafka goes on beside a topic of the plug-in's.
require_relative "../support/karafka_application"
require "active_job"
require "active_job/karafka"

NAME, JOBS = %w[events jobs].map { |name| KarafkaApplication.topic(name) }
ActiveJob::Base.logger = Logger.new(File::NULL)
ActiveJob::Base.queue_adapter = :karafka
ActiveJob::Base.extend(Karafka::ActiveJob::JobExtensions) # which Karafka's railtie does in Rails

class Job < ActiveJob::Base
  queue_as JOBS
  def perform(number, name:) = KarafkaApplication::RESULTS << [:job, number, name]
end

class Collector < Karafka::BaseConsumer
  def consume = messages.each { |message| KarafkaApplication::RESULTS << [:event, message.payload["id"]] }
end

class App < Karafka::App
  KarafkaApplication.setup(self, concurrency: 2)
  Guildhall::Karafka.setup { |config| config.parallel = true }
  routes.draw do
    active_job_topic JOBS
    topic(NAME) do
      consumer Collector
      deserializer Guildhall::Karafka.parallel(Guildhall::JSON)
    end
  end
end

KarafkaApplication.produce(NAME, Array.new(300) { |id| %({"id":#{id}}) })
30.times { |number| Job.perform_later(number, name: "n") }
KarafkaApplication.run do
  jobs, events = KarafkaApplication.results(330).partition { |result| result.first == :job }
  KarafkaApplication.equal(Array.new(30) { |number| [:job, number, "n"] }, jobs, "jobs")
  KarafkaApplication.equal(Array.new(300) { |id| [:event, id] }, events, "events")
  KarafkaApplication.check("not decoded by workers") { Guildhall::Karafka.stats[:taken] > 200 }
end
