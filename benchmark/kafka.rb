# frozen_string_literal: true

# Consuming from a real broker, from the first message to 90 % of them: ours against Karafka, and against a consumer in
# C that decodes nothing, which is the limit. Each contender runs in a process of its own, in turn; all of them have to
# have read the same.
require_relative "support/bench"
require_relative "kafka/topics"
require_relative "kafka/contender"

servers = ENV.fetch("KAFKA_BOOTSTRAP_SERVERS", "")
abort("bin/bench kafka: needs a real broker; KAFKA_BOOTSTRAP_SERVERS says where it is") if servers.empty?

# KB => messages, messages with --quick, goals: Document × Karafka, Document of C, Hash × Karafka
SIZES = {1 => [150_000, 60_000, 3.5, 0.3, 1.5], 5 => [60_000, 20_000, 4, 0.5, 1.5],
         25 => [15_000, 6_000, 4, 0.5, 1.5], 100 => [4_000, 1_500, 6, 0.5, 1.5]}.freeze
CONTENDERS = {document: Contender.new("guildhall_consumer.rb", "document"), hash: Contender.new("guildhall_consumer.rb", "hash"),
              raw: Contender.new("guildhall_consumer.rb", "raw"), karafka: Contender.new("karafka_consumer.rb", "hash"),
              karafka_raw: Contender.new("karafka_consumer.rb", "raw"), c: Contender.new("consumer.c", "raw")}.freeze
# Those that read the same have to come to the same sum.
SAME = [%i[document hash karafka], %i[raw karafka_raw c]].freeze

def median(numbers) = numbers.sort[numbers.size / 2]

only = ENV.fetch("KB", "").split(",").map { |kb| Integer(kb) }
Bench.script("kafka") do |bench|
  topics = Topics.new(servers)
  rounds = bench.quick? ? 1 : 3
  SIZES.each do |kb, (full, quick, document_goal, limit_goal, hash_goal)|
    next unless only.empty? || only.include?(kb)

    count = bench.quick? ? quick : full
    topic = topics.filled(kb * 1000, count)
    results = Array.new(rounds) { CONTENDERS.transform_values { |contender| contender.run(servers, topic, count) } }
    results.product(SAME).each do |round, names|
      same = round.values_at(*names).map { |one| one["sum"] }.uniq.size == 1
      abort("kafka #{kb} KB: not the same was read: #{round}") unless same
    end
    rate = CONTENDERS.keys.to_h { |name| [name, median(results.map { |round| round[name]["rate"] })] }
    bench.note(rate.map { |name, messages| "#{kb} KB #{name}: #{messages.round} messages/s" }.join(", "))
    bench.row("kafka.document.#{kb}KB", against: "Karafka", ratio: rate[:document] / rate[:karafka], goal: document_goal)
    bench.row("kafka.document.#{kb}KB", against: "C, nothing decoded", ratio: rate[:document] / rate[:c], goal: limit_goal)
    bench.row("kafka.hash.#{kb}KB", against: "Karafka", ratio: rate[:hash] / rate[:karafka], goal: hash_goal)
    bench.row("kafka.raw.#{kb}KB", against: "Karafka, not touched", ratio: rate[:raw] / rate[:karafka_raw], goal: 2.5)
  end
end
