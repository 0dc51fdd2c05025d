# frozen_string_literal: true

require "objspace"
require "guildhall/json"

# What Documents take beyond their payloads, and whether that stays so.
class JSONMemory
  USUAL = 1.2 # × the payload
  WORST = 4.5
  PAGE = 4096

  def initialize(bench, corpus)
    @bench = bench
    @corpus = corpus
  end

  def run
    Corpus::SIZES.each { |name, size| beyond("orders.#{name}", @corpus.orders(size), USUAL) }
    beyond("webhooks", @corpus.webhooks, USUAL)
    beyond("worst", [list("1"), list("[]"), list("[" * 90 + "]" * 90), list("{\"\":0}")], WORST)
    steady(@corpus.orders(620), @bench.quick? ? 1_000_000 : 10_000_000)
  end

  private

  def list(element) = "[#{([element] * (200_000 / element.bytesize)).join(",")}]"

  def beyond(name, texts, limit)
    return unless @bench.wanted?("json.memory.#{name}")

    times = texts.map { |text| ObjectSpace.memsize_of(Guildhall::JSON.document(text)) / text.bytesize.to_f }.then { |all| limit == WORST ? all.max : all.sum / all.size }
    @bench.row("json.memory.#{name}", against: "#{limit} × the payload", ratio: limit / times, goal: 1.0, note: format("%.2f ×", times))
  end

  # Resident memory after a tenth of them, and after all.
  def steady(texts, documents)
    return unless @bench.wanted?("json.memory.steady")

    settled = after(texts, documents / 10)
    ratio = settled / after(texts, documents * 9 / 10).to_f
    @bench.row("json.memory.steady", against: "the first tenth", ratio:, goal: 0.9,
      note: format("%d documents, %d MB, then %d", documents, settled / 1_000_000, settled / ratio / 1_000_000))
  end

  def after(texts, count)
    (count / texts.size).times { texts.each { |text| Guildhall::JSON.document(text)["user"] } }
    File.read("/proc/self/statm").split[1].to_i * PAGE
  end
end
