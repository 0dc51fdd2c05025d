# frozen_string_literal: true

# Proves that a consumer which upserts `messages.rows` into a database through Active Record ends with the last version of each row; that
# a message which cannot be decoded is dead-lettered alone, or left out where the consumer says so, and is reachable; that marks work by
# the place of a row; and that the rows of a lazy codec, of an eager one and of `each_message` are the same.
require_relative "../support/scenario"
require "active_record"
require "tmpdir"

FOLDER = Dir.mktmpdir("guildhall-columns")
ActiveRecord::Base.establish_connection(adapter: "sqlite3", database: File.join(FOLDER, "orders.sqlite3"), timeout: 10_000)
ActiveRecord::Schema.verbose = false
ActiveRecord::Schema.define do
  create_table(:orders) do |table|
    table.string(:email)
    table.integer(:version)
    table.integer(:kafka_offset)
  end
end

class Order < ActiveRecord::Base; end

# Upserts, and leaves a bad message to the dead letter queue.
class Upserting < Guildhall::Kafka::Consumer
  def consume
    Order.upsert_all(messages.rows(id: "id", email: "customer.email", version: "version", kafka_offset: :offset, unique_by: :id, tombstones: :skip))
  end
end

# Marks what its rows say.
class Marking < Guildhall::Kafka::Consumer
  ROWS = Thread::Queue.new
  FAILED = Thread::Queue.new

  def consume
    messages.failures.each { |message| FAILED << message.offset }
    rows = messages.pluck("id", "customer.email", :offset, :key, [:headers, "trace"], :index, undecodable: :skip)
    rows.each { |row| ROWS << row.first(5) }
    mark_as_consumed(messages[rows.last.last])
  end
end

ORDERS = 300
VERSIONS = 4
BAD = [101, 555].freeze # offsets

Scenario.run do
  ids = (0...(ORDERS * VERSIONS)).map { |i| (i * 7) % ORDERS }
  messages = ids.each_with_index.map do |id, offset|
    payload = %({"id":#{id},"version":#{offset},"customer":{"email":"#{id}@#{offset}.example"}})
    payload = "{\"id\":" if BAD.include?(offset)
    payload = nil if offset == 700
    {payload:, key: "k#{id}", headers: {"trace" => "t#{offset}"}, partition: 0}
  end
  upserted, lazy, eager, dead = Array.new(4) { topic }
  [upserted, lazy, eager].each { |name| produce(name, messages) }
  configure
  routes do
    topic upserted do
      consumer Upserting
      deserializer Guildhall::JSON.lazy
      dead_letter_queue topic: dead, max_retries: 1
    end
    {lazy => Guildhall::JSON.lazy, eager => Guildhall::JSON}.each do |name, codec|
      topic name do
        consumer Marking
        deserializer codec
        manual_offset_management
      end
    end
  end
  start
  expected = ids.each_with_index.reject { |_, offset| BAD.include?(offset) || offset == 700 }.to_h
  eventually("the last version of each order is there") { Order.pluck(:id, :version).to_h == expected }
  equal(expected.map { |id, offset| [id, "#{id}@#{offset}.example", offset] }.sort, Order.order(:id).pluck(:id, :email, :kafka_offset), "rows of the table")
  eventually("all rows were seen") { Marking::ROWS.size >= 2 * (messages.size - BAD.size) }
  eventually("bad messages are known") { Marking::FAILED.size >= 2 * BAD.size }
  rows = Array.new(Marking::ROWS.size) { Marking::ROWS.pop }
  wanted = ids.each_with_index.reject { |_, offset| BAD.include?(offset) }.map do |id, offset|
    offset == 700 ? [nil, nil, 700, "k#{id}", "t700"] : [id, "#{id}@#{offset}.example", offset, "k#{id}", "t#{offset}"]
  end
  equal(wanted.flat_map { |row| [row, row] }, rows.sort_by { |row| row[2] }, "rows, of both codecs")
  equal(BAD.sort, Array.new(Marking::FAILED.size) { Marking::FAILED.pop }.uniq.sort, "failures")
  [lazy, eager].each { |name| eventually("what rows say is committed") { committed(name) == [messages.size] } }
  stop
  read = Guildhall::Kafka.each_message(lazy, deserializer: Guildhall::JSON.lazy).reject(&:failure).map { |message| message.pluck("id", "customer.email", :offset, :key, [:headers, "trace"]) }
  equal(wanted, read, "of each_message")
  letters = Guildhall::Kafka.each_message(dead).map { |message| message.headers["source_offset"].to_i }
  equal(BAD, letters.sort, "dead letters")
ensure
  FileUtils.remove_entry(FOLDER)
end
