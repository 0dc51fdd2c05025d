# frozen_string_literal: true

# How a parsed payload of 65 KB gets from a Ractor to the main one: parse and hand-over together, against the deep copy that Ruby makes of what is
# not shareable.

require_relative "support"

# What the Ractor does with each text.
module Ways
  ALL = {
    "deep copy" => ->(text) { JSON.parse(text) },
    "make_shareable" => ->(text) { Ractor.make_shareable(JSON.parse(text)) },
    "freeze: true" => ->(text) { JSON.parse(text, freeze: true) },
    "Guildhall, Hash" => ->(text) { Guildhall::JSON.decode(text) },
    "Guildhall, Document" => ->(text) { Guildhall::JSON.document(text) }
  }.transform_values { |way| Ractor.make_shareable(way) }.freeze
end

Bench.script("transfer") do |bench|
  texts = Ractor.make_shareable(Talk.texts(65_000, bench.quick? ? 20 : 60))
  inbox = PoolPeers.inbox
  ractors = Ways::ALL.transform_values do |way|
    Ractor.new(inbox, way) { |to, work| while (text = Ractor.receive) do to.send(work.call(text)) end }
  end
  through = lambda do |name|
    lambda do
      texts.map do |text|
        ractors[name].send(text)
        PoolPeers.take(inbox)["id"]
      end
    end
  end
  (Ways::ALL.keys - ["deep copy"]).each { |name| bench.compare("transfer.#{name}", through.call(name), {"deep copy" => through.call("deep copy")}) }
ensure
  ractors&.each_value { |ractor| ractor.send(nil) }
end
