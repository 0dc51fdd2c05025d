# frozen_string_literal: true

# What a message costs a contender, by thread, library and function:
# KAFKA_BOOTSTRAP_SERVERS=… bin/console benchmark/kafka/costs.rb instructions|time MODE [KB]
# MODE: one of guildhall_consumer.rb's (raw, document, columns, rows, …), or c. `instructions` needs valgrind, and no quiet machine. There
# are two runs, and the second one reads more messages: the difference is what these cost, and how a process starts is left out. Without
# YJIT (RUBYOPT=--yjit runs with it, but what it takes to compile counts as well). `time` needs perf: microseconds of a processor, with the
# start of the process, which is the thread `ruby`.
require_relative "topics"
require_relative "profiled_contender"

FEW = 5_000
MORE = 20_000
MANY = 600_000
what, mode, kb = ARGV
bytes = Integer(kb || 1) * 1000
servers = ENV.fetch("KAFKA_BOOTSTRAP_SERVERS")
topics = Topics.new(servers)
contender = mode == "c" ? ProfiledContender.new("consumer.c", "raw") : ProfiledContender.new("guildhall_consumer.rb", mode)
if what == "instructions"
  few, many = [FEW, FEW + MORE].map { |count| contender.instructions(servers, topics.filled(bytes, count), count) }
  costs = many.to_h { |place, cost| [place, (cost - few[place]).fdiv(MORE)] }
else
  costs = contender.seconds(servers, topics.filled(bytes, MANY), MANY).transform_values { |seconds| seconds * 1e6 / MANY }
end
show = ->(name, cost) { puts format(what == "instructions" ? "%9.0f  %s" : "%9.2f  %s", cost, name) }
show.call("#{what == "instructions" ? what : "µs"} a message: #{mode}, #{bytes} B", costs.values.sum)
totals = costs.group_by { |(first, _), _| first }.transform_values { |rows| rows.sum(&:last) }
totals.sort_by { |_, cost| -cost }.first(8).each { |first, cost| show.call(first, cost) }
puts "of these:"
costs.sort_by { |_, cost| -cost }.first(40).each { |place, cost| show.call(place.join(" "), cost) }
