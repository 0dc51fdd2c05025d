# frozen_string_literal: true

# The patterns of the talk beside Guildhall, for payloads of four sizes: how many times as fast as JSON.parse in one thread. Each gives whole
# Hashes, frozen; "Documents" reads five fields of each.

require_relative "support"

FIVE = ->(order) { [order["id"], order["type"], order["currency"], order["user"]["email"], order["user"]["name"]] }

Bench.script("patterns") do |bench|
  pool = Guildhall::Pool.new
  Talk::SIZES.each do |size, bytes|
    texts = Talk.texts(bytes, bytes > 50_000 ? 60 : 200)
    plain = {"one thread, JSON.parse" => -> { texts.map { |text| JSON.parse(text) } }}
    Talk::PATTERNS.each do |name, pattern|
      next unless bench.wanted?("patterns.#{size}.#{name}")

      instance = pattern.new(Talk.workers)
      bench.compare("patterns.#{size}.#{name}", -> { instance.map(texts) }, plain)
      instance.close
    end
    bench.compare("patterns.#{size}.Guildhall, Hashes", -> { pool.map(texts, Talk::HASHES) }, plain)
    bench.compare("patterns.#{size}.Guildhall, Documents", -> { pool.map(texts, Talk::LAZY).map(&FIVE) },
      {"one thread, JSON.parse" => -> { texts.map { |text| FIVE.call(JSON.parse(text)) } }})
  end
ensure
  pool&.shutdown
end
