# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka/testing"

# In processes of their own: Active Support changes Ruby's classes.
class ActiveJobTest < GuildhallTest
  PRELUDE = <<~'RUBY'
    require "active_job"
    require "active_support/all"
    require "guildhall/kafka/active_job"
    require "guildhall/kafka/testing"
        ActiveJob::Base.logger = Logger.new(nil)
    ActiveJob::Base.queue_adapter = :guildhall
    RESULTS = Thread::Queue.new
    class Current < ActiveSupport::CurrentAttributes
      attribute :user, :tenant
    end
    class Job < ActiveJob::Base
      queue_as "jobs"
      def perform(*arguments, **options) = RESULTS << [*arguments, *options, Current.user].compact
    end
    def check(condition, message = "wrong") = condition || abort("line #{caller_locations(1, 1).first.lineno}: #{message}")
    def equal(expected, actual) = check(expected == actual, "expected #{expected.inspect}, got #{actual.inspect}")
    def raised(klass)
      yield
      abort("line #{caller_locations(1, 1).first.lineno}: nothing was raised")
    rescue klass => error
      error
    end
    Guildhall::Kafka.config.pause_timeout = 0.05
    def routes(&block) = Guildhall::Kafka.routes(&block)
  RUBY
  BROKER = <<~'RUBY'
    broker = Guildhall::Kafka::Testing::EmbeddedBroker.start
    %w[jobs others dead].each { |topic| broker.create_topic(topic, partitions: 3) }
    Guildhall::Kafka.config.kafka = {"bootstrap.servers": broker.bootstrap_servers}
    Guildhall::Kafka.config.logger = nil
    at_exit { Guildhall::Kafka.stop; broker.stop }
    def results(count) = Array.new(count) { |n| RESULTS.pop(timeout: 60) || abort("only #{n} of #{count}: #{ERRORS.first&.full_message}") }
    ERRORS = []
    Guildhall::Kafka.instrumentation.subscribe("error.occurred") { |event| ERRORS << event.payload[:error] }
  RUBY
  OFFLINE = <<~'RUBY'
    Guildhall::Kafka.config.kafka = {"bootstrap.servers": "127.0.0.1:1"}
    def topic = Guildhall::Kafka::Testing.topic("jobs")
    def payload(job) = JSON.generate(job.serialize)
    SENT = []
    HANDLE = Struct.new(:topic, :partition, :offset) { def wait(**) = self }.new("jobs", 0, 0)
    PRODUCER = Struct.new(:handle) { def produce_async(message) = (SENT << message; handle) }.new(HANDLE)
    def produced_to_nobody = Guildhall::Kafka.define_singleton_method(:producer) { PRODUCER }
  RUBY

  # What Rails' own integration tests ask of an adapter ("queuing_test"), where an adapter without delays is concerned.
  def test_contract_of_an_adapter
    online(<<~'RUBY')
      routes { active_job_topic "jobs", "others" }
      class Nobody
        include GlobalID::Identification
        attr_reader :id
        def initialize(id) = @id = id
        def self.find(id) = new(id)
        def ==(other) = other.is_a?(Nobody) && other.id == id
      end
      GlobalID.app = "test"
      Guildhall::Kafka.start
      # runs jobs enqueued on a listening queue; serializes arguments
      job = Job.perform_later("hello", 1, nil, [:a], Time.utc(2026), Nobody.new("7"), name: "n")
      check(job.successfully_enqueued?)
      equal([["hello", 1, [:a], Time.utc(2026), Nobody.new("7"), [:name, "n"]]], results(1))
      # provider_job_id is there
      check(job.provider_job_id.match?(%r{\Ajobs/[0-2]@\d+\z}), job.provider_job_id)
      # does not run jobs of a queue that is not listened to
      broker.create_topic("elsewhere")
      Job.set(queue: "elsewhere").perform_later("lost")
      Job.set(queue: "others").perform_later("other")
      equal([["other"]], results(1))
      # runs in an around callback, with its own queue name, priority and locale
      class Told < Job
        around_perform { |job, block| RESULTS << [job.queue_name, job.priority, I18n.locale, job.arguments]; block.call }
      end
      I18n.available_locales = %i[en de]
      I18n.with_locale(:de) { Told.set(queue: "others", priority: 5).perform_later(2) }
      equal([["others", 5, :de, [2]], [2]], results(2))
      # a job that was enqueued by a job
      class Outer < Job
        def perform(n) = n.zero? ? RESULTS << :end : self.class.perform_later(n - 1)
      end
      Outer.perform_later(3)
      equal([:end], results(1))
      # runs jobs enqueued at once: perform_all_later
      jobs = Array.new(50) { |n| Job.new(n) }
      equal(nil, ActiveJob.perform_all_later(jobs))
      check(jobs.all?(&:successfully_enqueued?))
      equal((0...50).map { |n| [n] }, results(50).sort)
      # retries and discards
      class Flaky < Job
        retry_on(KeyError, wait: 0, attempts: 3) { RESULTS << :gave_up }
        discard_on(IOError) { RESULTS << :discarded }
        def perform(kind)
          RESULTS << executions
          raise kind == :io ? IOError : KeyError
        end
      end
      Flaky.perform_later(:key)
      equal([1, 2, 3, :gave_up], results(4))
      Flaky.perform_later(:io)
      equal([1, :discarded], results(2))
      equal([], ERRORS)
    RUBY
  end

  def test_order_by_key
    online(<<~'RUBY')
      class Keyed < Job
        guildhall_options key: ->(job) { job.arguments.first }
        def perform(key, number)
          sleep(0.001) if number.even?
          RESULTS << [key, number]
        end
      end
      class ByName < Keyed
        guildhall_options key: :name
        def name = arguments.last
      end
      routes { active_job_topic "jobs" }
      ActiveJob.perform_all_later(Array.new(300) { |n| Keyed.new("k#{n % 7}", n) })
      Guildhall::Kafka.start
      results(300).group_by(&:first).each_value { |list| equal(list.map(&:last).sort, list.map(&:last)) }
      check(ByName.guildhall_options[:produce] == :sync && Job.guildhall_options[:key].nil?)
      error = raised(Guildhall::ArgumentError) { Keyed.guildhall_options(kay: 1, produce: :later) }
      check(error.message.include?("did you mean key?") && error.message.include?(":sync, :async or :outbox"), error.message)
    RUBY
  end

  def test_what_cannot_be_enqueued
    offline(<<~'RUBY')
      error = raised(Guildhall::Kafka::ActiveJob::DelayedJobError) { Job.set(wait: 60).perform_later }
      check(error.is_a?(NotImplementedError) && error.is_a?(Guildhall::Error) && error.message.match?(/Job is to be performed later.*`delay_topics`/), error.message)
      raised(Guildhall::Kafka::ActiveJob::DelayedJobError) { ActiveJob.perform_all_later(Job.new, Job.new.set(wait: 60)) }
      Guildhall::Kafka.config.producer = {"message.timeout.ms": 300}
      Guildhall::Kafka.config.logger = nil
      job = Job.new
      equal(false, job.enqueue)
      check(job.enqueue_error.is_a?(ActiveJob::EnqueueError) && job.enqueue_error.message.start_with?("topic jobs: "), job.enqueue_error.inspect)
      jobs = [Job.new, Job.new]
      ActiveJob.perform_all_later(jobs)
      check(jobs.none?(&:successfully_enqueued?) && jobs.all?(&:enqueue_error))
      Guildhall::Kafka.stop(timeout: 2)
    RUBY
  end

  # A broker refuses all messages of a request for one that is too large: the others are sent again, each by itself.
  def test_a_job_that_is_too_large_does_not_keep_the_others_out
    offline(<<~'RUBY')
      attempts = []
      producer = Object.new
      producer.define_singleton_method(:produce_async) do |message|
        attempts << (name = JSON.parse(message[:payload])["arguments"].first)
        handle = Object.new
        handle.define_singleton_method(:wait) { |**| attempts.count(name) == 1 || name == "large" ? raise(Guildhall::Kafka::ProduceError.of(10, "jobs")) : HANDLE }
        handle
      end
      Guildhall::Kafka.define_singleton_method(:producer) { producer }
      jobs = %w[a large b].map { |name| Job.new(name) }
      ActiveJob.perform_all_later(jobs)
      equal([true, false, true], jobs.map(&:successfully_enqueued?))
      equal([nil, ActiveJob::EnqueueError, nil], jobs.map { |job| job.enqueue_error&.class })
      equal(%w[a large b a large b], attempts)
    RUBY
  end

  # Of jobs that are enqueued at once, all are, or none.
  def test_a_job_that_cannot_be_serialized_keeps_the_others_from_being_enqueued
    offline(<<~'RUBY')
      class Keyed < Job
        guildhall_options key: ->(job) { job.arguments.first.fetch(:key) }
      end
      producer = Struct.new(:messages) { def produce_async(message) = messages << message }.new([])
      Guildhall::Kafka.define_singleton_method(:producer) { producer }
      raised(KeyError) { ActiveJob.perform_all_later(Job.new, Keyed.new({})) }
      raised(JSON::GeneratorError) { ActiveJob.perform_all_later(Job.new, Job.new("\xFF")) }
      raised(ActiveJob::SerializationError) { ActiveJob.perform_all_later(Job.new, Job.new(Object.new)) }
      equal([], producer.messages)
    RUBY
  end

  def test_delays
    online(<<~'RUBY')
      routes do
        active_job_topic "jobs"
        delay_topics 1
      end
      class Later < Job
        retry_on KeyError, wait: 1
        def perform(name) = executions == 1 && name == :fails ? raise(KeyError) : RESULTS << [name, Time.now.to_f]
      end
      Guildhall::Kafka.start
      began = Time.now.to_f
      Later.set(wait: 1.5).perform_later(:waits)
      jobs = [Later.new(:now), Later.new(:too).set(wait: 1)]
      ActiveJob.perform_all_later(jobs)
      Later.perform_later(:fails)
      check(jobs.all?(&:successfully_enqueued?))
      times = results(4).to_h
      {waits: 1.5, now: 0, too: 1, fails: 1}.each { |name, seconds| check(times[name] - began >= seconds, "#{name} after #{times[name] - began}") }
      equal([], ERRORS)
    RUBY
  end

  def test_each_job_is_marked
    offline(<<~'RUBY')
      routes { active_job_topic("jobs", parallel: false) { dead_letter_queue topic: "dead", max_retries: 1, dispatch_undecodable: true } }
      class Bad < Job
        def perform(n) = (RESULTS << n; raise("bad") if n == 1)
      end
      one = topic.deliver(*Array.new(3) { |n| payload(Bad.new(n)) }, nil, "{", '{"job_class": "Missing", "job_id": "x"}', "[]", payload(Bad.new(9)))
      equal([0, 1, 1, 2, 9], Array.new(RESULTS.size) { RESULTS.pop })
      equal(8, one.done)
      letters = one.dead_letters.map { |letter| letter[:headers].values_at("source_offset", "source_error_class") }
      equal([["1", "RuntimeError"], ["4", "Guildhall::Kafka::UndecodableMessageError"], ["5", letters[2].last], ["6", "Guildhall::Kafka::UndecodableMessageError"]], letters)
    RUBY
  end

  # One bad job costs its own retries, and nothing else waits for ever.
  def test_a_job_that_keeps_failing_goes_to_the_dead_letters_of_its_queue
    offline(<<~'RUBY')
      class Bad < Job
        def perform(n) = (RESULTS << n; raise("bad") if n == 1)
      end
      [true, false].each do |parallel|
        Guildhall::Kafka.reset
        Guildhall::Kafka.config.kafka = {"bootstrap.servers": "127.0.0.1:1"}
        routes { active_job_topic("jobs", parallel:) }
        one = topic.deliver(*Array.new(3) { |n| payload(Bad.new(n)) }, "{")
        equal({0 => 1, 1 => parallel ? 5 : 4, 2 => 1}, Array.new(RESULTS.size) { RESULTS.pop }.tally.sort.to_h)
        equal(4, one.done)
        equal([["jobs.dead", "RuntimeError", "4"], ["jobs.dead", "Guildhall::Kafka::UndecodableMessageError", "1"]],
          one.dead_letters.map { |letter| [letter[:topic], *letter[:headers].values_at("source_error_class", "source_attempts")] }.sort_by(&:last).reverse)
      end
    RUBY
  end

  def test_what_the_routes_say_of_dead_letters_and_delays_counts
    offline(<<~'RUBY')
      def drawn(&block)
        Guildhall::Kafka.reset
        Guildhall::Kafka.config.kafka = {"bootstrap.servers": "127.0.0.1:1"}
        routes(&block)
        Guildhall::Kafka.application.validate!
      end
      def dead(topics) = topics.reject(&:delay_topics).map { |topic| topic.dead_letter_queue&.topic }
      delays = %w[1 10 60 600 3600 36000].map { |seconds| "guildhall.delay.#{seconds}" }
      topics = drawn { active_job_topic "jobs", :mails }
      equal(%w[jobs mails] + delays, topics.map(&:name))
      equal(%w[jobs.dead mails.dead], dead(topics))
      equal([nil], dead(drawn { active_job_topic("jobs") { dead_letter_queue false } }))
      equal([nil], dead(drawn { active_job_topic("jobs") { delivery :at_most_once } if false; active_job_topic("jobs", parallel: false) { delivery :at_most_once } }))
      equal(["all.dead"], dead(drawn { defaults { dead_letter_queue topic: "all.dead" }; active_job_topic "jobs" }))
      equal(["own", 7], drawn { active_job_topic("jobs") { dead_letter_queue topic: "own", max_retries: 7 } }.first.dead_letter_queue.then { |queue| [queue.topic, queue.max_retries] })
      equal(%w[jobs], drawn { active_job_topic "jobs"; delay_topics false }.map(&:name))
      topics = drawn { consumer_group("a") { active_job_topic "jobs"; delay_topics false }; consumer_group("b") { active_job_topic "mails" } }
      equal(["b"], topics.select(&:delay_topics).map(&:group).uniq)
      equal([], drawn { delay_topics false; consumer_group("a") { active_job_topic "jobs" } }.select(&:delay_topics))
      equal(%w[jobs x.5], drawn { active_job_topic "jobs"; delay_topics 5, prefix: "x" }.map(&:name))
      topics = drawn { consumer_group("a") { active_job_topic "jobs" }; consumer_group("b") { active_job_topic "mails" } }
      equal(%w[a b], topics.reject(&:delay_topics).map(&:group))
      equal(["a"], topics.select(&:delay_topics).map(&:group).uniq)
      # a process for one queue also sends on what was delayed
      equal(%w[mails a.delay.1], Guildhall::Kafka::Routing::RouteSelection.new(topics: "mails").choose(topics).map(&:name).first(2))
      equal(%w[jobs a.delay.1], Guildhall::Kafka::Routing::RouteSelection.new(exclude_topics: "mails").choose(topics).map(&:name).first(2))
      # also one for another group
      equal(%w[mails a.delay.1], Guildhall::Kafka::Routing::RouteSelection.new(groups: "b").choose(topics).map(&:name).first(2))
      # also where the routes choose the delays, before or after the jobs
      [proc { delay_topics 5; active_job_topic "jobs", "mails"; topic("else") { consumer Guildhall::Kafka::ActiveJob::Consumer } },
       proc { active_job_topic "jobs", "mails"; consumer_group("c") { delay_topics 5 }; topic("else") { consumer Guildhall::Kafka::ActiveJob::Consumer } }].each do |block|
        topics = drawn(&block)
        name = topics.find(&:delay_topics).name
        equal([name, "mails"].sort, Guildhall::Kafka::Routing::RouteSelection.new(topics: "mails").choose(topics).map(&:name).sort)
        equal(%w[else], Guildhall::Kafka::Routing::RouteSelection.new(topics: "else").choose(topics).map(&:name))
        check(Guildhall::Kafka::Routing::RouteSelection.new(groups: "guildhall").choose(topics).map(&:name).include?(name))
      end
    RUBY
  end

  # What it was about counts, and not that it could not be enqueued.
  def test_retry_on_without_delay_topics_leaves_the_jobs_own_error
    offline(<<~'RUBY')
      routes do
        delay_topics false
        active_job_topic("jobs", parallel: false) { dead_letter_queue topic: "dead", max_retries: 0 }
      end
      class Flaky < StandardError; end
      class Waits < Job
        retry_on Flaky
        def perform = raise(Flaky, "the real one")
      end
      one = topic.deliver(payload(Waits.new))
      equal(["Flaky"], one.dead_letters.map { |letter| letter[:headers]["source_error_class"] })
      equal([Flaky], one.errors.map(&:class))
      raised(Guildhall::Kafka::ActiveJob::DelayedJobError) { Waits.set(wait: 5).perform_later }
    RUBY
  end

  def test_jobs_are_delivered_and_retried_without_a_broker
    offline(<<~'RUBY')
      routes { active_job_topic("jobs", parallel: false); topic("orders") { consumer Class.new(Guildhall::Kafka::Consumer) { def consume = Retried.perform_later("in it") } } }
      class Retried < Job
        guildhall_options key: ->(job) { job.arguments.first }
        retry_on KeyError, wait: 30, attempts: 3
        def perform(name) = (RESULTS << [name, executions]) && executions < 2 && raise(KeyError, "not yet")
      end
      require "guildhall/kafka/testing/assertions"
      include Guildhall::Kafka::Testing::Assertions
      def assert(met, message) = met || abort(message.call)
      one = topic.deliver(Retried.new("a"))
      equal([["a", 1], 1, []], [RESULTS.pop, one.done, one.errors])
      assert_produced(one, topic: "jobs", key: "a", at: Time, payload: ->(job) { job["executions"] == 1 }, times: 1)
      equal(0, one.travel(25).then { RESULTS.size })
      equal([["a", 2], 2], [one.travel(10).then { RESULTS.pop }, one.done])
      assert_produced(topic: "jobs", key: "b") { Retried.perform_later("b") }
      assert_produced(topic: "jobs", at: Time) { Retried.set(wait: 60).perform_later("c") }
      assert_produced(Guildhall::Kafka::Testing.topic("orders").deliver("1"), topic: "jobs", key: "in it")
    RUBY
  end

  def test_executions_count_the_retries_of_the_topic_and_a_job_knows_its_message
    offline(<<~'RUBY')
      routes { active_job_topic("jobs", parallel: false) { dead_letter_queue topic: "dead", max_retries: 2 } }
      class Counting < Job
        def perform(n)
          RESULTS << [n, executions, provider_job_id]
          raise "bad" if n == 1 && executions < 3
        end
      end
      topic.deliver(*Array.new(3) { |n| payload(Counting.new(n)) })
      equal([[0, 1, "jobs/0@0"], [1, 1, "jobs/0@1"], [1, 2, "jobs/0@1"], [1, 3, "jobs/0@1"], [2, 1, "jobs/0@2"]],
        Array.new(RESULTS.size) { RESULTS.pop })
      Guildhall::Kafka.reset
      Guildhall::Kafka.config.kafka = {"bootstrap.servers": "127.0.0.1:1"}
      routes { active_job_topic("jobs", parallel: false) { retry_topics 5; dead_letter_queue topic: "dead" } }
      Guildhall::Kafka::Testing.topic("jobs.guildhall.retry.5").deliver(payload(Counting.new(3)), headers: {"source_attempts" => "2"}, timestamp: Time.now - 60)
      equal([3, 3], RESULTS.pop.first(2))
    RUBY
  end

  def test_a_priority_is_ignored_and_the_log_says_so_once
    offline(<<~'RUBY')
      produced_to_nobody
      lines = StringIO.new
      ActiveJob::Base.logger = Logger.new(lines, level: Logger::WARN)
      Job.perform_later
      equal("", lines.string)
      2.times { Job.set(priority: 5).perform_later }
      equal(1, lines.string.scan("priority is ignored").size)
      check(lines.string.include?("give urgent jobs a queue of their own"))
    RUBY
  end

  # The route's codecs are between the job and the topic: what the brokers keep is encrypted, and so are dead letters and retries.
  def test_a_queue_may_be_encrypted
    offline(<<~'RUBY')
      require "guildhall/encryption"
      require "guildhall/json"
      encryption = Guildhall::Encryption.new({"2026" => OpenSSL::Random.random_bytes(32)})
      other = Guildhall::Encryption.new({"2026" => OpenSSL::Random.random_bytes(32)})
      [encryption.decrypt, encryption.decrypt >> Guildhall::JSON, encryption.decrypt >> Guildhall::JSON.lazy].each do |decrypt|
        Guildhall::Kafka.reset
        Guildhall::Kafka.config.kafka = {"bootstrap.servers": "127.0.0.1:1"}
        routes do
          active_job_topic("jobs", parallel: false) do
            serializer Guildhall.encode(Guildhall::JSON) >> encryption.encrypt
            deserializer decrypt
          end
        end
        class Secret < Job
          retry_on KeyError, wait: 30
          def perform(text) = (RESULTS << [text.frozen?, text << "!", executions]; raise(Object.const_get(text[..-2])) if executions == 1 && text.end_with?("Error!"))
        end
        one = topic.deliver(Secret.new("4111"), Secret.new("KeyError"), Secret.new("RangeError"))
        equal([[false, "4111!", 1], [false, "KeyError!", 1], [false, "RangeError!", 1], [false, "RangeError!", 2]], Array.new(RESULTS.size) { RESULTS.pop })
        retried = one.produced.map { |message| message[:payload] }
        check(retried.size == 1 && !retried.first.include?("KeyError") && JSON.parse(encryption.decrypt.call(retried.first))["executions"] == 1, retried.inspect)
        one.travel(40)
        equal([[false, "KeyError!!", 2]], Array.new(RESULTS.size) { RESULTS.pop })
        one.deliver(other.encrypt.call(payload(Secret.new("4111"))), payload(Secret.new("plain")))
        equal([["Guildhall::Encryption::Error"] * 2, true], [one.dead_letters.map { |letter| letter[:headers]["source_error_class"] }, RESULTS.empty?])
      end
    RUBY
  end

  # At most so many of a partition; with one partition, of the queue, on all machines together.
  def test_a_queue_may_have_a_limit
    offline(<<~'RUBY')
      routes { active_job_topic("jobs") { throttle limit: 3, per: 60 } }
      one = topic.deliver(*Array.new(8) { |n| Job.new(n) })
      performed = [RESULTS.size]
      2.times { performed << one.travel(61).then { RESULTS.size } }
      equal([[3, 6, 8], 8], [performed, one.done])
      equal((0..7).map { |n| [n] }, Array.new(8) { RESULTS.pop }.sort)
    RUBY
  end

  # Each waits for a time of its own, so that jobs that failed together do not come again together.
  def test_retries_wait_with_jitter
    offline(<<~'RUBY')
      routes { active_job_topic("jobs", parallel: false) }
      class Jittery < Job
        retry_on KeyError, wait: :polynomially_longer, jitter: 0.5, attempts: 5
        def perform(n) = raise(KeyError)
      end
      srand(1)
      one = topic.deliver(*Array.new(20) { |n| Jittery.new(n) })
      times = one.produced.map { |message| message[:at] - Time.now }
      equal([20, 20, 0], [times.size, times.uniq.size, one.errors.size])
      check(times.max - times.min > 0.1, times.inspect)
    RUBY
  end

  def test_arguments_are_the_jobs_own
    offline(<<~'RUBY')
      routes { active_job_topic "jobs" }
      class Changing < Job
        def perform(text, hash) = RESULTS << [text << "!", hash.merge!("b" => 2)]
      end
      topic.deliver(payload(Changing.new("a", {"a" => 1})))
      equal(["a!", {"a" => 1, "b" => 2}], RESULTS.pop)
    RUBY
  end

  def test_current_attributes
    online(<<~'RUBY')
      routes { active_job_topic("jobs", parallel: false) }
      Guildhall::Kafka::ActiveJob.current_attributes Current
      Guildhall::Kafka.start
      Current.set(user: :ada, tenant: {"id" => 1}) { Job.perform_later(1) }
      Job.perform_later(2)
      equal([[1, :ada], [2]], results(2).sort_by(&:first)) # of several partitions
      class Again < Job
        retry_on KeyError, wait: 0
        def perform = executions == 1 ? raise(KeyError) : RESULTS << Current.tenant
      end
      Current.set(user: nil, tenant: "t") { Again.perform_later }
      equal(["t"], results(1))
      raised(ActiveJob::SerializationError) { Current.set(user: Object.new) { Job.perform_later } }
    RUBY
  end

  # As one among a job's arguments.
  def test_a_record_in_current_attributes_that_is_gone
    offline(<<~'RUBY')
      class Person
        include GlobalID::Identification
        def id = 7
        def self.find(_id) = raise("gone")
      end
      GlobalID.app = "test"
      class Discarding < Job
        discard_on(ActiveJob::DeserializationError) { |job, _error| RESULTS << [:discarded, *job.serialize["arguments"]] }
      end
      routes { active_job_topic("jobs", parallel: false) { dead_letter_queue topic: "dead", max_retries: 0 } }
      Guildhall::Kafka::ActiveJob.current_attributes Current
      headers = Current.set(user: Person.new) { Guildhall::Kafka::ActiveJob.current_attributes_header.headers }
      one = topic.deliver(payload(Discarding.new(1)), payload(Job.new(2)), headers:)
      equal([[:discarded, 1]], Array.new(RESULTS.size) { RESULTS.pop })
      equal(2, one.done)
      equal([["1", "ActiveJob::DeserializationError"]], one.dead_letters.map { |letter| letter[:headers].values_at("source_offset", "source_error_class") })
    RUBY
  end

  # At once: trying again changes nothing.
  def test_what_is_no_job_is_undecodable
    offline(<<~'RUBY')
      routes { active_job_topic("jobs", parallel: false) { dead_letter_queue topic: "dead", max_retries: 1, dispatch_undecodable: true } }
      Guildhall::Kafka::ActiveJob.current_attributes Current
      tries = []
      Guildhall::Kafka.instrumentation.subscribe("error.occurred") { |event| tries << event.payload[:error].message }
      ["{", "[]", '{"Current": 5}', '{"Current": [5]}', "\xFF", ["{}", "{}"]].each do |header|
        one = topic.deliver(payload(Job.new(1)), headers: {"current_attributes" => header})
        equal(["Guildhall::Kafka::UndecodableMessageError"], one.dead_letters.map { |letter| letter[:headers]["source_error_class"] })
        equal(1, tries.size)
        check(tries.pop.include?("the header current_attributes is "), header.inspect)
      end
      one = topic.deliver('{"job_class": 5, "job_id": "x"}', '{"job_class": null}', payload(Job.new(2)), headers: {"current_attributes" => "{}"})
      equal(["Guildhall::Kafka::UndecodableMessageError"] * 2, one.dead_letters.map { |letter| letter[:headers]["source_error_class"] })
      equal([[2], 2], [RESULTS.pop, tries.size])
    RUBY
  end

  def test_settings_that_cannot_work
    offline(<<~'RUBY')
      error = raised(Guildhall::ArgumentError) { Guildhall::Kafka::ActiveJob.current_attributes Current, String, 5 }
      check(error.message.start_with?("current_attributes: each must be a class of ActiveSupport::CurrentAttributes, or its name, not String; "), error.message)
      Guildhall::Kafka::ActiveJob.current_attributes Current, "Current", :Current
      routes { active_job_topic("jobs", parallel: "no") }
      error = raised(Guildhall::ConfigurationError) { topic }
      check(error.message.include?('active_job_topic: parallel must be true or false, not "no"'), error.message)
    RUBY
  end

  def test_a_stop_in_the_middle_of_a_batch
    offline(<<~'RUBY')
      routes { active_job_topic "jobs", parallel: false }
      STOPPED = topic
      class Stopping < Job
        def perform(n)
          RESULTS << n
          STOPPED.leave if n == 2
        end
      end
      STOPPED.deliver(*Array.new(10) { |n| payload(Stopping.new(n)) })
      equal([0, 1, 2], Array.new(RESULTS.size) { RESULTS.pop })
      equal(3, STOPPED.done)
    RUBY
  end

  def test_steps_end_when_the_process_stops
    offline(<<~'RUBY')
      routes { active_job_topic "jobs", parallel: false }
      STOPPED = topic
      class Steps < ActiveJob::Base
        include ActiveJob::Continuable
        queue_as "jobs"
        def perform
          step(:first) { RESULTS << :first; STOPPED.leave }
          step(:second) { RESULTS << :second }
        end
      end
      produced_to_nobody
      STOPPED.deliver(payload(Steps.new))
      equal([:first], Array.new(RESULTS.size) { RESULTS.pop })
      equal([1, ["first"]], [SENT.size, JSON.parse(SENT.first[:payload]).dig("continuation", "completed")])
      check(!ActiveJob::Base.queue_adapter.stopping?)
    RUBY
  end

  # It waits for its time, or is refused, as at any other moment: a retry is no interruption.
  def test_a_job_that_fails_while_the_process_stops_does_not_run_early
    offline(<<~'RUBY')
      routes do
        delay_topics false
        active_job_topic("jobs", parallel: false) { dead_letter_queue topic: "dead", max_retries: 0 }
      end
      STOPPED = topic
      class Patient < Job
        retry_on KeyError, wait: 3600
        def perform = (STOPPED.leave; raise KeyError)
      end
      Guildhall::Kafka.define_singleton_method(:producer) { abort("enqueued at once") }
      STOPPED.deliver(payload(Patient.new))
      equal([KeyError], STOPPED.errors.map(&:class))
      equal(0, STOPPED.done)
    RUBY
  end

  # Active Job takes an EnqueueError for an answer, and the job for retried: its message would be marked, and the job gone.
  def test_a_job_that_cannot_be_enqueued_again_is_not_done
    offline(<<~'RUBY')
      routes { active_job_topic("jobs", parallel: false) { dead_letter_queue topic: "dead", max_retries: 0 } }
      class Flaky < Job
        guildhall_options produce: :async
        retry_on KeyError, wait: 0
        def perform = raise(KeyError)
      end
      failures = []
      PRODUCER.handle = Object.new.tap { |one| one.define_singleton_method(:wait) { |**| (failure = failures.shift) ? raise(failure) : HANDLE } }
      produced_to_nobody
      failures.concat([Guildhall::Kafka::ProduceError.of(-192, "jobs"), Guildhall::TimeoutError.new]) # an outage, which lasts as long as it lasts
      one = topic.deliver(payload(Flaky.new))
      equal([[Guildhall::TimeoutError] * 2, 1, []], [one.errors.map(&:class), one.done, one.dead_letters])
      failures.concat([29, 3, -188].map { |code| Guildhall::Kafka::ProduceError.of(code, "jobs") }) # may not be written to, and missing
      one = topic.deliver(payload(Flaky.new))
      equal([[Guildhall::TimeoutError] * 3, 1, []], [one.errors.map(&:class), one.done, one.dead_letters])
      check(one.errors.first.message.match?(/topic jobs, .*topic_authorization_failed\); grant WRITE and DESCRIBE on topic jobs\z/), one.errors.first.message)
      check(one.errors.drop(1).all? { |error| error.message.end_with?("; create topic jobs") }, one.errors.map(&:message))
      failures << Guildhall::Kafka::ProduceError.of(10, "jobs") # too large
      one = topic.deliver(payload(Flaky.new))
      equal([Guildhall::Kafka::ProduceError], one.errors.map(&:class))
      equal(["0"], one.dead_letters.map { |letter| letter[:headers]["source_offset"] })
    RUBY
  end

  def test_a_job_whose_delay_topic_may_not_be_written_to_waits_for_it
    offline(<<~'RUBY')
      routes do
        active_job_topic("jobs", parallel: false) { dead_letter_queue topic: "dead", max_retries: 0 }
        delay_topics 1, 10, prefix: "later"
      end
      class Flaky < Job
        retry_on KeyError, wait: 5
        def perform = raise(KeyError)
      end
      refusals = [29, 3].map { |code| Guildhall::Kafka::ProduceError.of(code, "later.1") }
      PRODUCER.define_singleton_method(:produce_later) { |**| (refusal = refusals.shift) ? raise(refusal) : HANDLE }
      produced_to_nobody
      one = topic.deliver(payload(Flaky.new))
      equal([[Guildhall::TimeoutError] * 2, 1, []], [one.errors.map(&:class), one.done, one.dead_letters])
      equal(["grant WRITE and DESCRIBE on topic later.1", "create topic later.1"], one.errors.map { |error| error.message.split("; ").last })
    RUBY
  end

  # What has come with a job goes with it again, although the record cannot be found now, or the job has changed the attributes.
  def test_a_retried_job_keeps_its_current_attributes
    offline(<<~'RUBY')
      class Person
        include GlobalID::Identification
        class << self; attr_accessor :there; end
        def id = 7
        def self.find(_id) = there ? new : raise("gone")
      end
      GlobalID.app = "test"
      class Again < Job
        retry_on ActiveJob::DeserializationError, KeyError, wait: 0
        def perform(kind)
          RESULTS << Current.user.id
          Current.user = nil
          raise KeyError if kind == :fails && executions == 1
        end
      end
      routes { active_job_topic("jobs", parallel: false) }
      Guildhall::Kafka::ActiveJob.current_attributes Current
      produced_to_nobody
      headers = Current.set(user: Person.new) { Guildhall::Kafka::ActiveJob.current_attributes_header.headers }
      one = topic.deliver(payload(Again.new(:late)), headers: {**headers, "other" => "x"})
      Person.there = true
      one.deliver(payload(Again.new(:fails)), headers:)
      equal([headers, headers], SENT.map { |message| message[:headers] })
      one.deliver(SENT.first[:payload], headers: SENT.first[:headers])
      equal([7, 7], Array.new(RESULTS.size) { RESULTS.pop })
      equal([3, []], [one.done, one.errors])
    RUBY
  end

  # Ruby's own `to_s` is another one for each object: the order would be lost without a word.
  def test_a_key_that_is_a_record_is_refused
    offline(<<~'RUBY')
      class Keyed < Job
        guildhall_options key: ->(job) { job.arguments.first[:key] }
      end
      produced_to_nobody
      class Customer; end
      adapter = ActiveJob::Base.queue_adapter
      error = raised(Guildhall::ArgumentError) { adapter.send(:key, Keyed.new({key: Customer.new})) }
      check(error.message.include?("guildhall_options of Keyed: the key must be a String") && error.message.end_with?("not a Customer"), error.message)
      ["a", :b, 7, nil, Date.new(2026, 1, 2), [1, "c"]].each { |key| Keyed.perform_later({key:}) }
      equal(["a", "b", "7", nil, "2026-01-02", '[1, "c"]'], SENT.map { |message| message[:key] })
    RUBY
  end

  private

  def online(code) = assert_forked("#{PRELUDE}#{BROKER}#{code}")
  def offline(code) = assert_forked("#{PRELUDE}#{OFFLINE}#{code}")
end
