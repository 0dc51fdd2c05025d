# frozen_string_literal: true

# What a Rails application does with what JSON.parse gave it: each is done with a Document too, and has to give the same, or
# raise. In a process of its own, because Active Support changes Ruby's classes. Prints what differs.
require "action_controller"
require "active_record"
require "active_support/all"
require "bigdecimal"
require "dry/schema"
require "json"
require "tmpdir"
require "yaml"
require "guildhall/avro"
require "guildhall/active_record"
require "guildhall/json"
require "guildhall/msgpack"

ActiveRecord::Base.establish_connection(adapter: "sqlite3", database: ":memory:")
ActiveRecord::Schema.verbose = false
ActiveRecord::Schema.define do
  create_table(:orders) do |table|
    table.string :name
    table.json :data
    table.text :blob
    table.integer :n
  end
end

# A model with a column that is written as YAML.
class Order < ActiveRecord::Base
  serialize :blob, coder: YAML
end

# The same column as JSON.
class JSONOrder < ActiveRecord::Base
  self.table_name = "orders"
  serialize :blob, coder: JSON
end

SHAPE = Dry::Schema.JSON do
  required(:id).filled(:integer)
  required(:tags).array(:string)
  required(:user).hash { required(:name).filled(:string) }
end
FORM = Dry::Schema.Params do
  required(:id).filled(:integer)
  optional(:tags).array(:string)
end

OPERATIONS = {
  "where(id: ids)" => ->(x) { Order.where(id: x["ids"]).to_sql + " -> " + Order.where(id: x["ids"]).count.to_s },
  "where(doc)" => ->(x) { Order.where(x["rows"][0]).to_sql },
  "where.not(id: ids)" => ->(x) { Order.where.not(id: x["ids"]).to_sql },
  "rewhere" => ->(x) { Order.where(id: 1).rewhere(id: x["ids"]).to_sql },
  "where(name: names)" => ->(x) { Order.where(name: x["names"]).to_sql },
  "where('id in (?)')" => ->(x) { Order.where("id in (?)", x["ids"]).to_sql },
  "where([])" => ->(x) { Order.where(["id in (:a)", {a: x["ids"]}]).to_sql },
  "tuple" => ->(x) { Order.where(%i[id n] => [x["ids"]]).to_sql },
  "find(ids)" => ->(x) { Order.find(x["ids"]).map(&:id) },
  "find(one)" => ->(x) { Order.find(x["one"]).class },
  "find_by" => ->(x) { Order.find_by(id: x["id"])&.id },
  "find_by ids" => ->(x) { Order.find_by(id: x["ids"])&.id },
  "exists" => ->(x) { Order.exists?(id: x["ids"]) },
  "exists2" => ->(x) { Order.exists?(x["rows"][0]) },
  "exists3" => ->(x) { Order.create!(x["rows"][0]).then { Order.exists?(x["rows"][0]) } },
  "sanitize_sql" => ->(x) { Order.sanitize_sql(x["names"]) },
  "sanitize_sql_for_assignment" => ->(x) { Order.sanitize_sql_for_assignment(x["rows"][0]) },
  "create!(attrs)" => ->(x) { Order.create!(x["attrs"]).name },
  "create!(rows)" => ->(x) { Order.create!(x["rows"]).map(&:name) },
  "new" => ->(x) { Order.new(x["attrs"]).name },
  "assign" => ->(x) { Order.new.tap { |o| o.assign_attributes(x["attrs"]) }.n },
  "insert_all" => lambda { |x|
    Order.insert_all(x["rows"]).class
    Order.count
  },
  "insert_all!" => ->(x) { Order.insert_all!(x["rows"].map { |q| q }).class },
  "insert" => ->(x) { Order.insert(x["attrs"]).class },
  "json col" => lambda { |x|
    o = Order.create!(data: x["nested"])
    [o.data, Order.find(o.id).data, Order.find_by(data: x["nested"])&.id == o.id]
  },
  "json col arr" => lambda { |x|
    o = Order.create!(data: x["rows"])
    [o.data, Order.find(o.id).data]
  },
  "json where" => ->(x) { Order.where(data: x["nested"]).to_sql },
  "yaml col" => lambda { |x|
    o = Order.create!(blob: x["nested"])
    [Order.find(o.id).blob, Order.connection.select_value("select blob from orders where id=#{o.id}")]
  },
  "json coder col" => lambda { |x|
    o = JSONOrder.create!(blob: x["nested"])
    JSONOrder.find(o.id).blob
  },
  "string col" => ->(x) { Order.create!(name: x["nested"]).reload.name },
  "int col" => ->(x) { Order.create!(n: x["ids"]).reload.n },
  "update_all" => ->(x) { Order.update_all(x["attrs"]) },
  "update" => ->(x) { Order.first.update(x["attrs"]) },
  "upsert" => ->(x) { Order.upsert(x["attrs"]).class },
  "upsert_all" => ->(x) { Order.upsert_all(x["rows"]).class },
  "delete_by" => ->(x) { Order.delete_by(id: x["ids"]) },
  "order" => ->(x) { Order.order(x["names"]).to_sql },
  "in_order_of" => ->(x) { Order.in_order_of(:id, x["ids"]).to_sql },
  "pluck" => ->(x) { x["rows"].pluck("name") },
  "select" => ->(x) { Order.select(*x["attrs"].keys).to_sql },
  "deep_symbolize" => ->(x) { x.deep_symbolize_keys },
  "hwia" => ->(x) { x.with_indifferent_access[:attrs][:name] },
  "to_query" => ->(x) { x["attrs"].to_query },
  "to_query arr" => ->(x) { x["ids"].to_query("a") },
  "nested to_query" => ->(x) { {a: x["nested"]}.to_query },
  "to_param" => ->(x) { x["ids"].to_param },
  "index_by" => ->(x) { x["rows"].index_by { |q| q["name"] } },
  "sum" => ->(x) { x["rows"].sum { |q| q["n"] } },
  "in_groups_of" => ->(x) { x["ids"].in_groups_of(2) },
  "including" => ->(x) { x["ids"].including(3) },
  "Array.wrap" => ->(x) { [Array.wrap(x["ids"]), Array.wrap(x["attrs"])] },
  "blank" => ->(x) { [x.blank?, x["ids"].present?, x["ids"].many?, x["ids"].presence&.size] },
  "to_json" => ->(x) { x.to_json },
  "as_json" => ->(x) { [x.as_json(only: "ids"), {a: x}.as_json, [x["ids"]].as_json] },
  "AS::JSON" => ->(x) { ActiveSupport::JSON.encode({a: x["nested"]}) },
  "cache" => lambda { |x|
    c = ActiveSupport::Cache::MemoryStore.new
    c.write("k", x)
    c.read("k")
  },
  "file cache" => lambda { |x|
    Dir.mktmpdir do |d|
      c = ActiveSupport::Cache::FileStore.new(d)
      c.write("k", [x])
      c.read("k").first
    end
  },
  "cachekey" => ->(x) { [ActiveSupport::Cache.expand_cache_key(x["ids"]), ActiveSupport::Cache.expand_cache_key(x["attrs"])] },
  "cache key" => lambda { |x|
    c = ActiveSupport::Cache::MemoryStore.new
    c.write(x["ids"], 1)
    c.read([1, 2])
  },
  "exclude?" => ->(x) { x["ids"].exclude?(1) },
  "deep_dup" => ->(x) { x.deep_dup },
  "in?" => ->(x) { 1.in?(x["ids"]) },
  "to_sentence" => ->(x) { x["names"].to_sentence },
  "deep_merge" => ->(x) { x.deep_merge({"a" => 1}) },
  "hash deep_merge" => ->(x) { {"a" => {"b" => 1}}.deep_merge(x["nested"]) },
  "maximum" => ->(x) { x["rows"].maximum("n") },
  "to_xml" => ->(x) { x["attrs"].to_xml },
  "params" => ->(x) { ActionController::Parameters.new(x).permit(:id, ids: [], attrs: [:name], rows: [:n]).to_h },
  "params in" => ->(x) { ActionController::Parameters.new(a: x["nested"]).permit(a: {a: {b: []}}).to_h },
  "params merge" => ->(x) { ActionController::Parameters.new(z: 1).merge(x["attrs"]).permit!.to_h },
  "dry" => lambda { |x|
    q = SHAPE.call(x)
    [q.success?, q.errors.to_h, q.to_h]
  },
  "dry bad" => lambda { |x|
    q = SHAPE.call(x["nested"])
    [q.success?, q.errors.to_h, q.to_h]
  },
  "dry params" => lambda { |x|
    q = FORM.call(x)
    [q.success?, q.errors.to_h, q.to_h]
  },
  "extract_options" => ->(x) { [1, x["attrs"]].extract_options! },
  "assert_valid_keys" => ->(x) { x["attrs"].assert_valid_keys("name") },
  "reverse_merge" => ->(x) { x["attrs"].reverse_merge("q" => 1) },
  "with_defaults" => ->(x) { {"name" => 1}.with_defaults(x["attrs"]) },
  "inquiry" => ->(x) { x["names"].inquiry.o0? },
  "acc" => ->(x) { x.deep_stringify_keys.size },
  "compact_blank" => ->(x) { x.compact_blank.size },
  "ordered options" => ->(x) { ActiveSupport::OrderedOptions.new.merge!(x["attrs"].symbolize_keys) },
  "msgpack" => lambda { |x|
    require "active_support/message_pack"
    ActiveSupport::MessagePack.load(ActiveSupport::MessagePack.dump(x["attrs"]))
  },
  "msg verifier" => lambda { |x|
    v = ActiveSupport::MessageVerifier.new("s" * 32)
    v.verify(v.generate(x))
  }
}.freeze
# A document where Rails asks for the class itself, and says so.
RAISES = ["yaml col", "msgpack"].freeze

TEXT = '{"ids":[1,2],"one":[1],"id":1,"attrs":{"name":"new","n":7},"rows":[{"name":"x","n":1},{"name":"y","n":2}],' \
       '"names":["o0","o1"],"nested":{"a":{"b":[1]}},"tags":["a"],"user":{"name":"x"}}'

def plain(value)
  case value
  when Guildhall::Document then value.decode
  when Array then value.map { |one| plain(one) }
  when Hash then value.to_h { |key, one| [plain(key), plain(one)] }
  else value
  end
end

# Each from the same three rows on.
def outcome(operation, given)
  ActiveRecord::Base.connection.execute("DELETE FROM orders")
  ActiveRecord::Base.connection.execute("DELETE FROM sqlite_sequence")
  3.times { |n| Order.create!(name: "o#{n}", n:) }
  plain(operation.call(given)).inspect
rescue StandardError => error
  "raises #{error.class}"
end

documents = {
  json: -> { Guildhall::JSON.document(TEXT) }, msgpack: -> { Guildhall::MessagePack.document(Guildhall::MessagePack.encode(JSON.parse(TEXT))) }
}
OPERATIONS.each do |name, operation|
  expected = outcome(operation, JSON.parse(TEXT))
  documents.each do |format, make|
    actual = outcome(operation, make.call)
    unless actual == expected || (RAISES.include?(name) && actual.start_with?("raises"))
      puts "#{format} #{name}: #{actual[0, 200]}, not #{expected[0, 200]}"
    end
  end
end

# What JSON.encode writes does not depend on where it runs.
Warning[:experimental] = false
Pair = Struct.new(:a, :b)
[Time.at(0, 123_456).utc, Date.new(2026, 1, 2), DateTime.new(2026, 1, 2, 3, 4, 5), BigDecimal("1.10"), Pair.new(1, Time.at(0).utc), Set[1], 1..3, 3r].each do |object|
  object = Ractor.make_shareable(object)
  ractor = Ractor.new(object) { |one| Guildhall::JSON.encode({"x" => [one]}) }
  elsewhere = ractor.respond_to?(:value) ? ractor.value : ractor.take
  here = Guildhall::JSON.encode({"x" => [object]})
  unless [elsewhere, {"x" => [object]}.to_json].all?(here)
    puts "#{object.class} elsewhere #{elsewhere}, here #{here}, Rails #{{"x" => [object]}.to_json}"
  end
end
