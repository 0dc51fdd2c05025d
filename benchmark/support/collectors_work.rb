# frozen_string_literal: true

# One way of doing one kind of work for some seconds, in a process of its own, for benchmark/collectors.rb:
# collectors_work.rb KIND WAY SECONDS. Prints a line of JSON.

require "json"
require "guildhall"
require "guildhall/templates"
require_relative "pool_peers"
require_relative "../data/corpus"

Warning[:experimental] = false

# What is done, and what its caller does with a batch of results.
module CollectorsWork
  TEXTS = Corpus.new(bytes: 2_500_000).orders(Corpus::SIZES.fetch("5 KB")).cycle.first(500).freeze

  def self.fields(order) = [order["id"], order["type"], order["currency"], order["user"]["email"], order["user"]["name"]]

  # Decoded, and used where it was decoded.
  module Used
    def self.call(text) = CollectorsWork.fields(Guildhall::JSON.decode(text))
  end

  PAGE = Guildhall::Template.new(<<~ERB, locals: [:rows])
    <table><% rows.each do |row| %><tr><td><%= row[:id] %></td><td><%= row[:name] %></td><td><%= row[:price] %></td></tr>
    <% end %></table>
  ERB
  ROWS = Array.new(40) { |number| {id: number, name: "article <#{number}>".freeze, price: number * 1.25}.freeze }.freeze

  # Payloads of a batch, the task, what is kept of the results.
  KINDS = {
    "documents" => [TEXTS, Guildhall::JSON.lazy, ->(results) { results.map { fields(it) } }],
    "Hashes, kept" => [TEXTS, Guildhall::JSON, :itself.to_proc],
    "Hashes, used where decoded" => [TEXTS, Used, :itself.to_proc],
    "plain Ruby" => [TEXTS.first(50), PoolPeers::Letters, :itself.to_proc],
    "templates" => [Array.new(200) { {rows: ROWS}.freeze }, PAGE, :itself.to_proc]
  }.freeze

  # How long another thread of the main Ractor was kept from running at most, in seconds.
  class Pauses
    def initialize
      @longest = 0
      @thread = Thread.new { watch }
    end

    def longest
      @thread.kill
      @longest
    end

    private

    def watch
      loop do
        before = PoolPeers.now
        sleep(0.002)
        late = PoolPeers.now - before - 0.002
        @longest = late if late > @longest
      end
    end
  end

  class << self
    def run(kind, way, seconds)
      payloads, task, keep = KINDS.fetch(kind)
      batch = method(way[/\w+/]).call(payloads, task, keep, way[/\d+/].to_i)
      check(batch.call, payloads, task, keep)
      repeat(batch, seconds / 3)
      before = GC.count
      pauses = Pauses.new
      count, spent = repeat(batch, seconds)
      {per_second: count * payloads.size / spent, collections: GC.count - before, pause: pauses.longest, ruby: RUBY_DESCRIPTION}
    end

    private

    # The last batches are kept, as a consumer keeps what it works on.
    def repeat(batch, seconds)
      began = PoolPeers.now
      count = 0
      kept = []
      while (spent = PoolPeers.now - began) < seconds
        kept << batch.call
        kept.shift if kept.size > 2
        count += 1
      end
      [count, spent]
    end

    def check(results, payloads, task, keep)
      expected = keep.call(payloads.map { |payload| task.call(payload) })
      abort("wrong results") unless results == expected
    end

    def thread(payloads, task, keep, _) = -> { keep.call(payloads.map { |payload| task.call(payload) }) }

    def workers(payloads, task, keep, count)
      pool = Guildhall::Pool.new(workers: count)
      -> { keep.call(pool.dispatch(payloads, task, parallel: true).value) }
    end

    # As the pool chooses, with its caller's help.
    def pool(payloads, task, keep, count)
      pool = Guildhall::Pool.new(workers: count)
      -> { keep.call(pool.map(payloads, task)) }
    end

    # Documents stay with them: what is kept is worked out there.
    def processes(payloads, task, keep, count)
      done = task == Guildhall::JSON.lazy ? ->(payload) { fields(task.call(payload)) } : task
      peers = PoolPeers::Processes.new(count, payloads, done)
      task.equal?(done) ? -> { keep.call(peers.map) } : -> { peers.map }
    end
  end
end

puts JSON.generate(CollectorsWork.run(*ARGV.first(2), Float(ARGV[2])))
$stdout.flush
exit!(0) # workers may be at work, and processes wait
