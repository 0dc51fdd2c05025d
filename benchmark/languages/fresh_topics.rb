# frozen_string_literal: true

require_relative "../kafka/topics"

# As {Topics}, with orders in which no value comes again; a topic is deleted after use, because three of them fill a disk.
class FreshTopics < Topics
  FILLING_BYTES = 50_000_000 # of orders that all differ

  # (see Topics#filled)
  # @yieldparam name [String] the topic
  def with(bytes, count)
    name = filled(bytes, count)
    yield name
  ensure
    client(:admin) { |admin| admin.delete_topic(name).wait(max_wait_timeout_ms: 15_000) } if name
  end

  private

  def prefix = "guildhall-bench-fresh-#{Process.pid}"
  def distinct(bytes) = FILLING_BYTES / bytes

  def payload(bytes, index)
    random = Random.new(index)
    word = -> { random.bytes(6).unpack1("H*") }
    order = ::JSON.parse(Orders.document(bytes, index))
    order["customer"] = {"name" => "#{word.call} #{word.call}", "email" => "#{word.call}@#{word.call}.example", "vip" => false}
    order["items"].each { |item| item.merge!("sku" => "SKU-#{random.rand(10**12)}", "title" => Array.new(3) { word.call }.join(" "), "tags" => [word.call, word.call]) }
    ::JSON.generate(order)
  end
end
