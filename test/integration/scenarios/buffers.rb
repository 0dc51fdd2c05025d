# frozen_string_literal: true

# Proves that a consumer that collects rows of several batches before it inserts and marks them loses none and reorders none: not
# when inserts fail and it forgets its buffer, not when the application is stopped with rows in the buffer and started again;
# and that what is left when no more messages come is inserted by `tick`.
require_relative "../support/scenario"

# As the guide says.
class Buffering < Guildhall::Kafka::Consumer
  def initialized
    @buffer = []
    @inserts = 0
  end

  def consume
    @buffer.concat(messages.to_a)
    flush if @buffer.size >= 100
  rescue StandardError
    @buffer.clear
    raise
  end

  def tick = flush
  def revoked = @buffer.clear

  private

  def flush
    return if @buffer.empty?
    raise "no insert" if (@inserts += 1) % 3 == 1

    @buffer.each { |message| self.class::ACCOUNT.handled(partition, message.offset, self) }
    mark_as_consumed(@buffer.last)
    @buffer.clear
  end
end

Scenario.run do
  partitions = 2
  name = topic(partitions:)
  account = self.account
  consumer = Class.new(Buffering) { const_set(:ACCOUNT, account) }
  settings = {max_messages: 20, tick_interval: 0.3}
  router = proc do
    topic(name) do
      consumer(consumer)
      manual_offset_management true
      dead_letter_queue topic: "#{name}-dead", max_retries: 0
    end
  end
  produce_to(name, partitions, 530)
  configure(**settings)
  routes(&router)
  start
  eventually("begun") { account.settled > 300 }
  stop
  restart(**settings, &router)
  eventually_complete
  stop
  equal([530] * partitions, committed(name, partitions:), "committed")
  equal(0, account.consumed - account.settled, "inserted twice")
  reported = drain(errors)
  check(reported.any? { |error| error[:error].is_a?(Guildhall::Kafka::UnmarkedError) }, "it was not reported that nothing is dead-lettered")
end
