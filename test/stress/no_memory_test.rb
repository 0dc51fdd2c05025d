# frozen_string_literal: true

require "test_helper"
require "tmpdir"

# Memory that is refused to the codecs: a NoMemoryError or the right result, never a wrong one, never a DecodeError, for which
# a payload would be set aside, and never the end of the process.
class NoMemoryTest < GuildhallTest
  SOURCE = File.expand_path("../support/failing_malloc.c", __dir__)

  def test_every_codec
    skip "replaces the malloc of glibc" unless RUBY_PLATFORM.include?("linux-gnu") || RUBY_PLATFORM.end_with?("linux")

    Dir.mktmpdir do |folder|
      library = File.join(folder, "failing_malloc.so")
      _, err, status = run_command(["cc", "-O1", "-shared", "-fPIC", SOURCE, "-o", library])
      assert_predicate status, :success?, err
      out = assert_ruby(<<~'RUBY', options: ["-Ilib"], env: {"LD_PRELOAD" => library}, timeout: 300)
        require "guildhall/codecs"
        require "guildhall/schema"
        orders = (1..150).map { |i| {"id" => i, "name" => "name #{i} é", "list" => [1, 2.5, nil, "x" * i], "more" => (1..i).to_h { |k| ["k#{k}", [k, "v#{i}"]] }} }
        json = Guildhall::JSON.encode(orders)
        packed = Guildhall::MessagePack.encode(orders)
        avro = Guildhall::Avro.new({type: "map", values: {type: "array", items: ["long", "string"]}})
        pairs = orders.last["more"]
        binary = avro.encode(pairs)
        doubled = %({"a":1,"a":[2],#{(1..300).map { |i| %("k#{i % 200}":#{i}) }.join(",")}})
        lax = Guildhall::JSON.new(allow_duplicate_key: true)
        single = lax.decode(doubled)
        schema = Guildhall::Schema.new({"items" => {"uniqueItems" => true, "properties" => {"list" => {"uniqueItems" => true},
          "more" => {"unevaluatedProperties" => true, "anyOf" => [{"maxProperties" => 3}, {"minProperties" => 1}]}}}}).validator
        whole = Guildhall::JSON.document(json)
        read = ->(document) { document.map { |order| 3.times { order["more"]["k1"] } && order["more"]["k#{order["id"]}"].to_a } }
        picked = orders.map { |order| order["more"]["k#{order["id"]}"] }
        work = {
          -> { Guildhall::JSON.decode(json) } => orders, -> { lax.decode(doubled) } => single, -> { read[Guildhall::JSON.document(json)] } => picked,
          -> { Guildhall::MessagePack.decode(packed) } => orders, -> { read[Guildhall::MessagePack.document(packed)] } => picked,
          -> { avro.decode(binary) } => pairs, -> { 200.times.map { |i| avro.document(binary).then { |map| 9.times.map { map["k150"].to_a }.last } }.uniq } => [pairs["k150"]],
          -> { schema.valid?(whole) } => true, -> { Guildhall::JSON.encode(whole) } => json, -> { Guildhall::MessagePack.encode(orders) } => packed,
          -> { begin Guildhall::MessagePack.decode(packed[..-2]); rescue Guildhall::DecodeError => error; error.path.delete_prefix("$[149].more.k150[1]").delete_prefix("$") end } => ""
        }
        refused = 0
        400.times do |round|
          Thread.new do # has memory of its own
            work.each do |call, expected|
              ENV["GUILDHALL_REFUSE_EVERY"] = (2 + (round % 20)).to_s
              result = begin call.call; rescue NoMemoryError; refused += 1; expected end
              ENV["GUILDHALL_REFUSE_EVERY"] = "0"
              abort("#{call} gave #{result.inspect[0, 200]}") unless result == expected
            end
          end.join
        end
        GC.verify_internal_consistency
        print refused
      RUBY
      assert_operator out.to_i, :>, 100
    end
  end
end
