# frozen_string_literal: true

# CSV to newline-delimited JSON, a thousand rows at once. Run it with:
# ruby examples/csv_to_json.rb < orders.csv (in a checkout: bin/rake example[csv_to_json])
require "guildhall"
require "guildhall/csv"

# The rows of a chunk, as lines of JSON.
module Lines
  def self.call(rows) = rows.map { |row| Guildhall::JSON.encode(row) }.join("\n")
end

orders = Guildhall::CSV.new(converters: {"id" => :integer, "total" => :float, "paid_on" => :date})
header = $stdin.gets
chunks = $stdin.each_slice(1000).lazy.map { |lines| header + lines.join }
Guildhall.pool.each(chunks, orders >> Guildhall.map(Lines), chunk: 2) { |json| puts json }
