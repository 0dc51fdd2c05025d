# frozen_string_literal: true

# The README's line for applications that stay with Karafka, as it stands there.
require_relative "../support/karafka_application"
require_relative "../../support/guide"

EXAMPLE = Guide.new(File.join(Guide::ROOT, "README.md")).blocks.find { |block| block.code.include?("Guildhall::Karafka.parallel") }
ORDERS = KarafkaApplication.topic("orders")

class OrdersConsumer < Karafka::BaseConsumer
  def consume = messages.each { |message| KarafkaApplication::RESULTS << [Guildhall::Document === message.payload, message.payload["id"]] }
end

class KarafkaApp < Karafka::App
  KarafkaApplication.setup(self)
end

eval(EXAMPLE.code.sub("topic :orders", "topic #{ORDERS.inspect}"), TOPLEVEL_BINDING, "README.md", EXAMPLE.line) # rubocop:disable Security/Eval

KarafkaApplication.produce(ORDERS, Array.new(20) { |id| %({"id":#{id}}) })
KarafkaApplication.run do
  KarafkaApplication.equal(Array.new(20) { |id| [true, id] }, KarafkaApplication.results(20), "payloads")
end
