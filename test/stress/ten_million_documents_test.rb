# frozen_string_literal: true

require "test_helper"

# Ten million Documents of each format, a thousand of them alive at a time: resident memory stays what it was after the
# first million. DOCUMENTS= makes it shorter or longer.
class TenMillionDocumentsTest < GuildhallTest
  DOCUMENTS = Integer(ENV.fetch("DOCUMENTS", 10_000_000))
  ALLOWED = 24 * 1024 * 1024 # bytes: what the collector's pages and malloc's arenas may still grow by

  # Payloads of several sizes: a Document's tape lies in its slot, or in memory of its own. Parts are kept as well, which
  # keep their whole; fields are read; one in a thousand is large, and gets an index.
  SCRIPT = <<~'RUBY'
    orders = [1, 1, 1, 1, 2, 3, 8].map do |items|
      {"id" => items, "user" => {"email" => "a@b.example", "name" => "größer"}, "items" => Array.new(items) { {"sku" => "sku-#{it}", "price" => it * 1.5} }}
    end
    large = {"id" => 0, "user" => {}, "items" => [], **Array.new(300) { ["key#{it}", it] }.to_h}
    payloads = orders.map { |order| ENCODE.call(order) }
    large = ENCODE.call(large)
    resident = -> { Integer(File.read("/proc/self/statm").split[1]) * 4096 }
    kept = Array.new(1_000)
    count = Integer(ARGV.first)
    samples = []
    count.times do |number|
      document = LAZY.decode((number % 1000).zero? ? large : payloads[number % 7])
      document["id"] == document.dig("user", "email") && raise
      20.times { document["key7"] } if (number % 1000).zero?
      kept[number % 1_000] = (number % 3).zero? ? document["user"] : document
      samples << resident.call if (number % (count / 10)).zero? && number.positive?
    end
    samples << resident.call
    puts samples.join(" ")
  RUBY

  CODECS = {
    "json" => "require 'guildhall/json'; ENCODE = Guildhall::JSON.method(:encode); LAZY = Guildhall::JSON.lazy",
    "msgpack" => "require 'guildhall/msgpack'; ENCODE = Guildhall::MessagePack.method(:encode); LAZY = Guildhall::MessagePack.lazy",
    "avro" => <<~RUBY
      require "guildhall/avro"
      item = {type: "record", name: "Item", fields: [{name: "sku", type: "string"}, {name: "price", type: "double"}]}
      codec = Guildhall::Avro.new({type: "map", values: ["long", {type: "map", values: "string"}, {type: "array", items: item}]})
      ENCODE = codec.method(:encode)
      LAZY = codec.lazy
    RUBY
  }.freeze

  CODECS.each_key do |codec|
    class_eval(<<~RUBY, __FILE__, __LINE__ + 1)
      def test_#{codec} = check("#{codec}") # def test_json = check("json")
    RUBY
  end

  private

  def check(codec)
    skip("no /proc/self/statm here to read resident memory from") unless File.exist?("/proc/self/statm")
    first, *later = assert_ruby("#{CODECS.fetch(codec)}\n#{SCRIPT}", DOCUMENTS.to_s, timeout: 1_800).split.map(&:to_i)
    puts "#{codec}: #{[first, *later].map { |bytes| bytes / 1024 / 1024 }.join(" ")} MiB resident, a tenth of #{DOCUMENTS} Documents each"
    assert_operator later.max - first, :<=, ALLOWED
  end
end
