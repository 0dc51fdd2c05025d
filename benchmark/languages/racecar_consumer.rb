# frozen_string_literal: true

# racecar_consumer.rb SERVERS TOPIC COUNT: reads COUNT messages with the gem racecar and JSON.parse, in racecar's own bundle.
require "racecar"
require_relative "../kafka/orders"
require_relative "../kafka/settings"
require_relative "../kafka/stopwatch"

SERVERS, NAME, COUNT = ARGV
STOPWATCH = Stopwatch.new(Integer(COUNT))

class OrdersConsumer < Racecar::Consumer
  subscribes_to NAME, start_from_beginning: true

  def process_batch(messages)
    STOPWATCH.start
    STOPWATCH.add(messages.size, messages.sum { |message| Orders.read(JSON.parse(message.value)) })
  end
end

Racecar.configure do |config|
  config.brokers = [SERVERS]
  config.group_id = "bench-racecar-#{Process.pid}"
  config.consumer = SETTINGS.except(:"auto.offset.reset").map { |name, value| "#{name}=#{value}" }
end
Racecar.config.load_consumer_class(OrdersConsumer)
Thread.new { Racecar::Runner.new(OrdersConsumer.new, config: Racecar.config, logger: Logger.new(File::NULL)).run }
STOPWATCH.report
exit!(0)
