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
require_relative "../support/scenario"

Scenario.run do
  commanding = Guildhall::Kafka::Commanding
  private_key, public_key = commanding::Keys.generate
  secret, plain = %w[secret plain].map { |name| topic(name:, partitions: 2) }
  small = topic(name: "small")
  client(:admin) do |admin|
    admin.incremental_alter_configs([{resource_type: 2, resource_name: small, configs: [{name: "max.message.bytes", value: "2000", op_type: 0}]}])
         .wait(max_wait_timeout_ms: 60_000)
  end
  seen = Thread::Queue.new
  pop = -> { seen.pop(timeout: 60) || flunk("a job is missing") }
  ActiveJob::Base.queue_adapter = :guildhall
  ActiveJob::Base.logger = Logger.new(nil)
  job_class = Class.new(ActiveJob::Base) do
    def self.name = "NotingJob"
    define_method(:perform) { |number, text = ""| seen << [queue_name, number, text] }
  end
  Object.const_set(:NotingJob, job_class)

  encryption = Guildhall::Encryption.new({"2026" => OpenSSL::Random.random_bytes(32)})
  configure(commit_interval: 0.2, concurrency: 4, producer: {"compression.codec": "none"},
    commands: {public_key:, topic: "commands-#{group}", allow: commanding::ACTIONS}, logger: Logger.new(log = StringIO.new))
  routes do
    delay_topics false
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
  notes << "206 jobs"
end
