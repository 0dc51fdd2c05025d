# frozen_string_literal: true

# docs/bulk_upserts.md on the MariaDB that DATABASE names, word for word up to "Older messages", but for what it says of MySQL and MariaDB: without
# `unique_by:`; keys that differ only by case, which the database takes for the same one unless the column has a binary collation; and a row that
# another transaction changes between a consumer's reading and writing it, which is no message's fault.
require_relative "../../support/warnings_raise"
require_relative "../../support/guide"
require "json"

page = File.join(Guide::ROOT, "docs/bulk_upserts.md")
until_line = File.readlines(page).index("## Older messages\n") || abort("the guide has changed")
SQLITE = 'adapter: "sqlite3", database: ":memory:"'
code = Guide.new(page).program.lines.first(until_line).join
[SQLITE, ", unique_by: :number"].each { |part| code.include?(part) || abort("the guide has no #{part}") }
code = code.sub(SQLITE, '**JSON.parse(ENV.fetch("DATABASE"), symbolize_names: true)').gsub(", unique_by: :number", "")
eval(code, TOPLEVEL_BINDING, page) # rubocop:disable Security/Eval

def rows_of(*keys)
  orders = Guildhall::Kafka::Testing.topic("orders").deliver(*keys.map { |key| message(key, {"status" => key, "cents" => 1}) })
  orders.errors.empty? || abort(orders.errors.inspect)
  Order.where(number: keys).pluck(:status).sort
end

expect(rows_of("a", "A"), '["A"]', __LINE__)
Order.delete_all
Order.with_connection { |connection| connection.change_column(:orders, :number, :string, collation: "utf8mb4_bin") }
Order.reset_column_information
expect(rows_of("a", "A"), '["A", "a"]', __LINE__)

# By default from MariaDB 11.6 on.
exit unless Order.with_connection { |connection| connection.select_value("SHOW VARIABLES LIKE 'innodb_snapshot_isolation'") }
Order.insert({number: "read", cents: 1})
begin
  Order.transaction do
    Order.with_connection { |connection| connection.execute("SET innodb_snapshot_isolation = 1") }
    Order.where(number: "read").pick(:cents)
    Thread.new { Order.where(number: "read").update_all("cents = cents + 1") }.join
    Order.upsert_all([{number: "read", cents: 5}])
  end
  abort("nothing was raised")
rescue ActiveRecord::StatementInvalid => error
  error.message.include?("Record has changed since last read") || raise
  expect(Guildhall::Kafka::Partition::ErrorKind.of(error, Guildhall::Kafka.application.validate!.first), ":contention", __LINE__)
end
