# frozen_string_literal: true

# MessagePack beside the gem msgpack: decoding, decoding to frozen and shareable objects, reading a few fields of a
# Document, encoding. Orders of several sizes and real webhooks.

require "guildhall/msgpack"
require "msgpack"
require_relative "data/corpus"
require_relative "support/bench"

# The corpus as MessagePack, and both contenders.
class MessagePackBench
  OURS = Guildhall::MessagePack
  FIELDS = [%w[id], %w[type], %w[user email], ["items", 0, "sku"], %w[currency]].freeze

  def initialize(bench)
    @bench = bench
    @corpus = Corpus.new(bytes: bench.quick? ? 400_000 : 1_000_000)
  end

  def run
    Corpus::SIZES.each { |name, bytes| rows(name, @corpus.orders(bytes)) }
    rows("webhooks", @corpus.webhooks)
    Corpus::FRESH_SIZES.each { |name, bytes| rows("fresh #{name}", @corpus.fresh(bytes)) }
  end

  private

  def rows(name, texts)
    objects = texts.map { |text| ::JSON.parse(text) }
    payloads = objects.map { |object| MessagePack.pack(object).freeze }
    decode_rows(name, payloads)
    document_row(name, payloads)
    encode_row(name, objects)
  end

  # Both over the same volume, so that small ones are measured long enough.
  def encode_row(name, objects)
    rounds = (3_000_000 / MessagePack.pack(objects).bytesize).clamp(1, 20)
    ours = -> { Array.new(rounds) { objects.map { |object| OURS.encode(object) } }.last }
    theirs = -> { Array.new(rounds) { objects.map { |object| MessagePack.pack(object) } }.last }
    @bench.compare("msgpack.encode #{name}", ours, {"msgpack" => theirs}, goals: {"msgpack" => 1.2})
  end

  # What is decoded is dropped at once, as a consumer does; results are compared on the first payloads.
  def decode_rows(name, payloads)
    check = ->(results) { results.uniq.size == 1 }
    rounds = (3_000_000 / payloads.sum(&:bytesize)).clamp(1, 20)
    last = ->(decode) { -> { rounds.times { payloads.each { |bytes| decode.call(bytes) } } && decode.call(payloads.last) } }
    @bench.compare("msgpack.decode #{name}", last[OURS.method(:decode)], {"unpack" => last[MessagePack.method(:unpack)]},
      goals: {"unpack" => 2.2}, &check)
    shareable = ->(bytes) { OURS.decode(bytes).tap { Ractor.shareable?(it) || abort("not shareable") } }
    theirs = ->(bytes) { MessagePack.unpack(bytes, freeze: true).tap { Ractor.shareable?(it) } }
    made = ->(bytes) { Ractor.make_shareable(MessagePack.unpack(bytes)) }
    @bench.compare("msgpack.frozen #{name}", last[shareable], {"unpack(freeze) + check" => last[theirs], "make_shareable" => last[made]},
      goals: {"unpack(freeze) + check" => 3.5}, &check)
  end

  def document_row(name, payloads)
    ours = -> { payloads.map { |bytes| OURS.document(bytes).then { |document| FIELDS.map { |path| document.dig(*path) } } } }
    theirs = -> { payloads.map { |bytes| MessagePack.unpack(bytes).then { |object| FIELDS.map { |path| object.dig(*path) } } } }
    @bench.compare("msgpack.document+5 #{name}", ours, {"unpack" => theirs}) { |results| results.uniq.size == 1 || name == "webhooks" }
  end
end

Bench.script("msgpack") { |bench| MessagePackBench.new(bench).run }
