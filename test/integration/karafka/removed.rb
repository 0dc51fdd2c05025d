# frozen_string_literal: true

# The same application first with the plug-in, then without: the gem is not loaded, the deserializer is the one of before. It goes on
# where it stopped, and its consumers see the same.
require_relative "../support/karafka_application"

NAME = ENV["TOPIC"] || KarafkaApplication.topic("removed")
PLUGIN = ENV.fetch("PLUGIN", nil) # nil: the process that runs the others
COUNT = 300

class Collector < Karafka::BaseConsumer
  def consume
    messages.each { |message| KarafkaApplication::RESULTS << [message.offset, message.payload, message.raw_payload, message.deserialized?] }
  end
end

class App < Karafka::App
  KarafkaApplication.setup(self)
  Guildhall::Karafka.setup { |config| config.parallel = true } if PLUGIN == "there"
  routes.draw do
    topic(NAME) do
      consumer Collector
      deserializer PLUGIN == "there" ? Guildhall::Karafka.parallel(Guildhall::JSON) : Karafka::Deserializers::Payload.new
    end
  end
end

if PLUGIN
  KarafkaApplication.run do
    from = Integer(ENV.fetch("FROM"))
    expected = Array.new(COUNT) { |index| [from + index, {"id" => from + index}, %({"id":#{from + index}}), true] }
    KarafkaApplication.equal(expected, KarafkaApplication.results(COUNT), "consumed #{PLUGIN}")
    KarafkaApplication.check("not decoded by workers") { PLUGIN == "removed" || Guildhall::Karafka.stats[:taken] > COUNT / 2 }
    KarafkaApplication.check("the plug-in is loaded") { (PLUGIN == "removed") ^ defined?(Guildhall::Karafka) }
  end
end

%w[there removed].each_with_index do |plugin, index|
  from = index * COUNT
  KarafkaApplication.produce(NAME, Array.new(COUNT) { |id| %({"id":#{from + id}}) })
  environment = {"PLUGIN" => plugin, "TOPIC" => NAME, "FROM" => from.to_s, "GROUP" => KarafkaApplication::GROUP,
                 "KAFKA_BOOTSTRAP_SERVERS" => KarafkaApplication.servers}
  exit(1) unless system(environment, RbConfig.ruby, __FILE__)
end
$stdout.flush
exit!(0)
