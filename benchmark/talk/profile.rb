# frozen_string_literal: true

# Where the time of a consumer goes: the part of decoding in decoding, validating five fields and building a row. The talk: 42, 86, 95 and 99 %.
# The ratio is how many times as fast the consumer would be without decoding.

require_relative "support"

SHARES = {"0.5 KB" => "42 %", "5 KB" => "86 %", "19 KB" => "95 %", "78 KB" => "99 %"}.freeze

# What a consumer does with an order besides decoding it.
module Row
  def self.call(order)
    user = order["user"]
    raise ArgumentError, "no address" unless user["email"].include?("@")

    {id: order["id"], kind: order["type"].split(".").last, at: order["ts"][0, 19], email: user["email"].downcase, currency: order["currency"].to_sym,
     tags: user["tags"].join(",")}
  end
end

Bench.script("profile") do |bench|
  Talk::SIZES.each do |size, bytes|
    next unless bench.wanted?("profile.#{size}")

    texts = Talk.texts(bytes, 2_000_000 / bytes)
    orders = texts.map { |text| JSON.parse(text) }
    raise "wrong results" unless Row.call(orders.first)[:email] == Guildhall::JSON.decode(texts.first)["user"]["email"].downcase

    all, rest = Talk.medians(bench.rounds, -> { texts.each { |text| Row.call(JSON.parse(text)) } }, -> { orders.each { |order| Row.call(order) } })
    bench.row("profile.#{size}", against: "without decoding", ratio: all / rest, note: format("decoding is %.0f %%", 100 * (1 - (rest / all))), talk: SHARES[size])
  end
end
