# frozen_string_literal: true

# guildhall_search.rb SERVERS TOPIC COUNT CONDITION: searches a topic as `guildhall read --where` does, and prints the messages a second from
# the call on, and how many were found.
require "json"
require "guildhall/kafka"
require "guildhall/json"
require_relative "settings"

servers, topic, count, condition = ARGV
Guildhall::Kafka.configure do |config|
  config.kafka = {"bootstrap.servers": servers, **SETTINGS, "queued.max.messages.kbytes": 10_000}
  config.logger = nil
end
search = Guildhall::Kafka.search(topic, where: condition, deserializer: Guildhall::JSON)
found = []
progress = search.run { |one| found << [one.record.partition, one.record.offset] }
abort("#{progress.messages} of #{count} messages were searched") unless progress.messages == Integer(count)
puts JSON.generate(rate: progress.messages / progress.seconds, found:, undecodable: progress.undecodable,
  peak_kb: File.read("/proc/self/status")[/VmHWM:\s+(\d+)/, 1].to_i)
