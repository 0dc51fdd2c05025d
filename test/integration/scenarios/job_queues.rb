# frozen_string_literal: true

# broker: real (the embedded one holds a request for commands back until its time is over)
#
# Proves what users of other job systems ask of a queue: jobs that are enqueued at once say of each whether it was taken; one queue is paused and
# resumed by a command while another goes on; arguments that the route encrypts are nowhere in the topic; and each job is performed once.
require "active_job"
require "active_support/all"
require "guildhall/encryption"
require "guildhall/kafka/active_job"
require "guildhall/kafka/commanding/commander"
require "guildhall/web"
require "rack/mock_request"
require_relative "../support/scenario"

Scenario.run do
  commanding = Guildhall::Kafka::Commanding
  private_key, public_key = commanding::Keys.generate
  secret, plain = %w[secret plain].map { |name| topic(name:, partitions: 2) }
  small = topic(name: "small")
  client(:admin) do |admin|
    limit = {resource_type: 2, resource_name: small, configs: [{name: "max.message.bytes", value: "2000", op_type: 0}]}
    admin.incremental_alter_configs([limit]).wait(max_wait_timeout_ms: 60_000)
  end
  later = "later-#{group}"
  seen = Thread::Queue.new
  pop = -> { seen.pop(timeout: 60) || flunk("a job is missing") }
  ActiveJob::Base.queue_adapter = :guildhall
  ActiveJob::Base.logger = Logger.new(nil)
  job_class = Class.new(ActiveJob::Base) do
    def self.name = "NotingJob"
    retry_on KeyError, wait: 600, jitter: 0.5
    define_method(:perform) do |number, text = ""|
      seen << [queue_name, number, text]
      raise KeyError if number.negative?
    end
  end
  Object.const_set(:NotingJob, job_class)

  encryption = Guildhall::Encryption.new({"2026" => OpenSSL::Random.random_bytes(32)})
  configure(commit_interval: 0.2, concurrency: 4, producer: {"compression.codec": "none"},
    commands: {public_key:, topic: "commands-#{group}", allow: commanding::ACTIONS}, logger: Logger.new(log = StringIO.new))
  routes do
    delay_topics 600, prefix: later
    active_job_topic(secret) do
      dead_letter_queue false
      serializer Guildhall.encode(Guildhall::JSON) >> encryption.encrypt
      deserializer encryption.decrypt
    end
    active_job_topic(plain) { dead_letter_queue false }
  end
  start
  commander = Guildhall::Kafka.commander(private_key:)
  ask = lambda do |action, wait: 60, **given|
    commander.issue(action, {group:, topic: secret}, by: "ada", why: "to see", wait:, **given).outcomes.map { |one| [one.outcome, one.reason] }.first
  end
  partitions = -> { Guildhall::Kafka.application.partitions.select { |one| one.name == secret } }
  eventually("both are assigned") { partitions.call.size == 2 }
  eventually("commands are read") { log.string.include?("commands failed") || ask.call(:resume, wait: 1, expires: 1) }
  enqueue = lambda do |queue, numbers, text = ""|
    jobs = numbers.map { |number| NotingJob.new(number, text).set(queue:) }
    ActiveJob.perform_all_later(jobs)
    jobs
  end

  # A queue rests, its jobs wait; the other one goes on.
  equal(:done, ask.call(:pause, args: {seconds: 600}).first, "pause")
  check(enqueue.call(secret, 0...100, "4111 1111").all?(&:successfully_enqueued?), "enqueued")
  enqueue.call(plain, 0...100)
  others = Array.new(100) { pop.call }
  equal([plain], others.map(&:first).uniq, "the paused queue rests")
  equal(0, committed(secret, partitions: 2).compact.sum, "committed")
  equal(:done, ask.call(:resume).first, "resume")
  equal((0...100).map { |number| [secret, number, "4111 1111"] }, Array.new(100) { pop.call }.sort, "each once")
  payloads = Guildhall::Kafka.each_message(secret).map(&:raw_payload)
  equal(100, payloads.size, "messages")
  check(payloads.none? { |payload| payload.include?("4111") || payload.include?("NotingJob") }, "not encrypted")

  # Of many that are enqueued at once, each says what became of it.
  jobs = [*enqueue.call(plain, 100...102), *[10, 5_000, 20].map { |size| NotingJob.new(size, SecureRandom.alphanumeric(size)).set(queue: small) }]
  ActiveJob.perform_all_later(jobs.last(3))
  equal([true, true, true, false, true], jobs.map(&:successfully_enqueued?), "taken")
  equal([nil, nil, nil, ActiveJob::EnqueueError, nil], jobs.map { |job| job.enqueue_error&.class }, "errors")
  check(jobs[3].enqueue_error.message.include?("max.message.bytes"), jobs[3].enqueue_error.message)
  equal([100, 101], Array.new(2) { pop.call[1] }.sort, "performed")
  equal(0, seen.size, "nothing twice")

  # Retries, each at a time of its own, are on the dashboard's page of their queue until they are due.
  enqueue.call(plain, [-1, -2])
  NotingJob.set(queue: secret, wait: 600).perform_later(0)
  equal([-2, -1], Array.new(2) { pop.call[1] }.sort, "performed")
  web = Guildhall::Web.new(authorize: ->(*) { true })
  page = ->(queue) { JSON.parse(Rack::MockRequest.new(web).get("/jobs/#{queue}?format=json").body) }
  waiting = nil
  eventually("they wait") { (waiting = page.call(plain)["later"]).size == 2 }
  equal([["NotingJob", 1, "KeyError: 1"]] * 2, waiting.map { |one| one.values_at("class", "executions", "failures") }, "what the page says")
  equal(2, waiting.map { |one| one["due"] }.uniq.size, "jitter")
  equal(["not a job, or encrypted"], page.call(secret)["later"].map { |one| one["class"] }, "an encrypted one")
  check(Rack::MockRequest.new(web).get("/jobs/#{plain}").body.include?("KeyError: 1"), "the page")
  web.close
  notes << "206 jobs"
end
