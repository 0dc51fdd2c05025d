# frozen_string_literal: true

# broker: real
# stress: 4 kills and freezes
#
# Proves that each message that is produced ends in exactly one way, whichever method it was given to: it is there, once, where its delivery
# says, or an error has reached whoever produced it. Several threads produce at once, while the broker is killed (-9) and comes back, while it
# is frozen (SIGSTOP), and while the queue is full. On a broker of its own.
require_relative "../support/scenario"

# What became of each message: the number that is its payload => [:there, partition, offset], or [:error, class], or [:refused, class]
class Outcomes
  attr_reader :all

  def initialize
    @lock = Mutex.new
    @next = 0
    @all = {}
  end

  def messages(count, topic)
    first = @lock.synchronize { (@next += count) - count }
    (first...(first + count)).map { |number| {topic:, payload: number.to_s, key: (number % 50).to_s} }
  end

  def note(message, *outcome)
    @lock.synchronize do
      raise "#{message[:payload]} has two ends: #{@all[message[:payload]]} and #{outcome}" if @all.key?(message[:payload])

      @all[message[:payload]] = outcome
    end
  end

  # Waits for it.
  def settle(message, delivery)
    report = delivery.wait
    note(message, :there, report.partition, report.offset)
  rescue Guildhall::Kafka::ProduceError => error
    note(message, :error, error.code)
  end

  # What a call for many has raised.
  def refused(messages, error)
    messages.each_with_index do |message, index|
      delivery = error.dispatched[index]
      delivery ? settle(message, delivery) : note(message, :refused, error.class)
    end
  end

  def count(kind) = @all.each_value.count { |outcome| outcome.first == kind }
end

Scenario.run do
  broker = own_broker or next

  name = topic(partitions: 3)
  outcomes = Outcomes.new
  # So that the queue is full while there is no broker, and few messages time out.
  configure(producer: {"queue.buffering.max.messages": 1_000, "message.timeout.ms": 60_000, "socket.timeout.ms": 5_000})
  producer = Guildhall::Kafka.producer
  producer.instance_variable_set(:@full_seconds, 0.5)
  ended = false
  waiting = Thread::Queue.new
  unattended = Thread::Queue.new
  kinds = {
    sync: lambda do |message|
      report = producer.produce_sync(message)
      outcomes.note(message, :there, report.partition, report.offset)
    end,
    async: ->(message) { waiting << [message, producer.produce_async(message)] },
    unattended: lambda do |message|
      unattended << [message, producer.produce_async(message)] # a handle as well, to compare with the events
    end
  }
  threads = kinds.map do |_, how|
    Thread.new do
      until ended
        message = outcomes.messages(1, name).first
        begin
          how.call(message)
        rescue Guildhall::Kafka::QueueFullError => error
          outcomes.note(message, :refused, error.class)
        rescue Guildhall::Kafka::ProduceError => error
          outcomes.note(message, :error, error.code)
        end
        sleep(0.0005)
      end
    end
  end
  many = {
    many_async: ->(messages) { producer.produce_many_async(messages).each_with_index { |delivery, index| waiting << [messages[index], delivery] } },
    many_sync: ->(messages) { producer.produce_many_sync(messages).each_with_index { |delivery, index| outcomes.settle(messages[index], delivery) } }
  }
  threads += many.map do |_, how|
    Thread.new do
      until ended
        messages = outcomes.messages(50, name)
        begin
          how.call(messages)
        rescue Guildhall::Kafka::ProduceError => error
          outcomes.refused(messages, error)
        end
        sleep(0.02)
      end
    end
  end
  threads << Thread.new do # what could not be flushed is kept, and flushed the next time
    kept = []
    until ended && kept.empty?
      unless ended
        messages = outcomes.messages(20, name)
        producer.buffer_many(messages)
        kept += messages
      end
      begin
        producer.flush_async.each { |delivery| waiting << [kept.shift, delivery] }
      rescue Guildhall::Kafka::ProduceError => error
        error.dispatched.each { |delivery| waiting << [kept.shift, delivery] }
      end
      sleep(0.02)
    end
  end
  threads.each { |thread| thread.report_on_exception = true }

  sleep(1)
  (long? ? 4 : 1).times do
    kill_broker(name) { sleep(3) }
    sleep(1)
    begin
      Process.kill(:STOP, broker.pid)
      sleep(8)
    ensure
      Process.kill(:CONT, broker.pid)
    end
    sleep(1)
  end
  ended = true
  threads.each { |thread| check(thread.join(90), "a thread produces for ever") }
  threads.each(&:value)
  silent = 0
  outcomes.settle(*waiting.pop) until waiting.empty?
  until unattended.empty?
    message, delivery = unattended.pop
    outcomes.settle(message, delivery)
    silent += 1 if outcomes.all[message[:payload]].first == :error
  end
  eventually("events") { drain(errors).tap { |found| silent -= found.count { |payload| payload[:topic] == name } } && silent <= 0 }

  total = outcomes.messages(0, name).size + outcomes.instance_variable_get(:@next)
  equal(total, outcomes.all.size, "messages with an end")
  check(Guildhall::Kafka.stop(timeout: 20), "not all was delivered")
  configure
  places = Hash.new { |hash, payload| hash[payload] = [] }
  Guildhall::Kafka.each_message(name) { |message| places[message.raw_payload] << [:there, message.partition, message.offset] }
  outcomes.all.each do |payload, outcome|
    case outcome.first
    when :there then equal([outcome], places[payload], "where #{payload} is")
    when :refused then equal([], places[payload], "where #{payload} is, which was refused")
    else check(places[payload].size <= 1, "#{payload} is there twice")
    end
  end
  equal([], places.keys - outcomes.all.keys, "what nobody has produced")
  check(outcomes.count(:refused).positive?, "the queue was never full")
  notes << "#{total} produced" << "#{outcomes.count(:there)} there, each once" << "#{outcomes.count(:refused)} refused" << "#{outcomes.count(:error)} failed"
end
