# frozen_string_literal: true

# Adds up 100 MB of newline-delimited JSON, in bounded memory. Run it with:
# ruby examples/ndjson.rb [MEGABYTES | FILE] (in a checkout: bin/rake example[ndjson])
require "guildhall"
require "tempfile"

# What a worker does with each event, of which it reads two fields.
module Worth
  def self.call(event) = [event["type"], event["items"].sum { |item| item["quantity"] * item["price"] }]
end

# @return [String] the path of a file to read
def sample(megabytes)
  Tempfile.create(["events", ".ndjson"], anonymous: false) do |file|
    number = 0
    while file.pos < megabytes * 1_000_000
      items = Array.new(20) { |item| %({"sku":"s#{item}","quantity":#{item % 3},"price":#{number % 100},"text":"#{"x" * 40}"}) }
      file.puts(%({"type":"#{%w[sale gift refund][(number += 1) % 3]}","items":[#{items.join(",")}]}))
    end
    file.flush
    yield file.path
  end
end

# The program itself.
def totals(path)
  totals = Hash.new(0)
  Guildhall.pool.each(File.foreach(path), Guildhall::JSON.lazy >> Guildhall.map(Worth)) { |type, worth| totals[type] += worth }
  totals
end

argument = ARGV.fetch(0, "100")
puts(File.exist?(argument) ? totals(argument) : sample(Float(argument)) { |path| totals(path) })
