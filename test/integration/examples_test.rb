# frozen_string_literal: true

require "test_helper"
require "tempfile"

# The examples that the guides show, as a reader would run them.
class ExamplesTest < GuildhallTest
  def self.apart? = true

  def test_kafka
    out, err, status = run_command([RbConfig.ruby, "examples/kafka.rb"])
    assert_predicate status, :success?, err
    assert_equal "paid: 140", out.lines(chomp: true).last
    assert_equal 3, out.scan("thirteen brings bad luck").size
  end

  def test_kafka_monitoring
    out = run_example("kafka_monitoring")
    assert_match(%r{^orders/0: [1-9]\d* messages, \d+\.\d s behind$}, out)
    assert_match(/^librdkafka has received \d+ messages$/, out)
    assert_equal "caught up", out.lines(chomp: true).last
  end

  def test_kafka_virtual_partitions
    assert_equal "threads: several, each customer's orders in order: true\n", run_example("kafka_virtual_partitions")
  end

  def test_kafka_ordering
    assert_equal "waits: [\"customer 3\"], done: 190 orders\nthen #{(3...200).step(20).to_a.join(", ")}\n", run_example("kafka_ordering")
  end

  def test_kafka_producing
    assert_equal "o1: 42 in 15 bytes\no2: 100 in 15 bytes\n", run_example("kafka_producing")
  end

  def test_kafka_transactions
    assert_equal "o1: 42, committed with the offset of orders\n", run_example("kafka_transactions")
  end

  def test_kafka_flow
    assert_equal "payment 0\npayment 1\npayment 3\neach a second old: true\n", run_example("kafka_flow")
  end

  def test_kafka_direct
    assert_equal "tea: 4\nsalt: 1\nlast in the archive: tea, 4\n", run_example("kafka_direct")
  end

  def test_kafka_later
    assert_equal "order 1 after 1 attempt: RuntimeError\nnot before its time, and the retry's second: true\n", run_example("kafka_later")
  end

  def test_kafka_scaling
    assert_equal "2 processes have read 400 visits\nexit status 0\n", run_example("kafka_scaling")
  end

  def test_kafka_schedule
    assert_equal "report due in this minute: true\nvisits/0 looked after\n", run_example("kafka_schedule")
  end

  def test_kafka_dead_letters
    assert_equal [
      "no JSON from offset 1 after 0 attempts: Guildhall::JSON::ParseError",
      "{\"id\": 3} from offset 2 after 3 attempts: RuntimeError"
    ], run_example("kafka_dead_letters").lines(chomp: true)
  end

  # The signature is the one that AWS's own library (the gem aws-sigv4 1.12) makes of the same request.
  def test_msk_iam
    require_relative "../../examples/msk_iam"
    key = %w[AKIDEXAMPLE wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY]
    at = Time.new(2015, 8, 30, 14, 36, 0, "+02:00")
    {nil => "c413a83bc64a339e31a5e5e9ed99d778ff843206b427540cafa5122c01e3e993",
     "tok/en+==" => "15f2a03bf9a074499da34cebe123eb6d414be5953a397f091aac941390412d4b"}.each do |session, signature|
      answer = MskIam.new("us-east-1") { [*key, session] }.call(at)
      url = answer[:token].tr("-_", "+/").unpack1("m")
      assert_includes url, "X-Amz-Signature=#{signature}&User-Agent=guildhall"
      assert url.start_with?("https://kafka.us-east-1.amazonaws.com/?Action=kafka-cluster%3AConnect&X-Amz-Algorithm=AWS4-HMAC-SHA256&"), url
      assert_equal at + 900, answer[:expires_at]
      refute_match(%r{[=+/]}, answer[:token])
    end
    environment = {"AWS_REGION" => "eu-west-1", "AWS_ACCESS_KEY_ID" => "id", "AWS_SECRET_ACCESS_KEY" => "secret", "AWS_SESSION_TOKEN" => "session"}
    out, err, status = run_command([RbConfig.ruby, "examples/msk_iam.rb"], env: environment)
    assert_predicate status, :success?, err
    assert_match(/X-Amz-Security-Token=…&X-Amz-SignedHeaders=host&X-Amz-Signature=…&User-Agent=guildhall\nvalid until /, out)
    assert_raises(ArgumentError) { MskIam.new("eu-west-1") { [] }.call }
  end

  def test_karafka
    assert_equal "paid: 249500 cents in 1000 orders\ndecoded by workers: true\n", run_example("karafka/karafka")
  end

  def test_ndjson
    totals = {"sale" => 0, "gift" => 0, "refund" => 0}
    Tempfile.create do |file|
      500.times do |number|
        type = totals.keys[number % 3]
        totals[type] += number * 2
        file.puts(%({"type": "#{type}", "items": [{"quantity": 2, "price": #{number}}]}))
      end
      file.flush
      assert_equal "#{totals}\n", run_example("ndjson", file.path)
    end
    assert_match(/\A\{"gift" ?=> ?\d+, "refund" ?=> ?\d+, "sale" ?=> ?\d+\}\n\z/, run_example("ndjson", "0.2"))
  end

  def test_csv_to_json
    csv = Array.new(3000) { |id| "#{id},#{id}.5,2026-01-01\n" }.join
    out, err, status = Open3.capture3(RbConfig.ruby, "examples/csv_to_json.rb", stdin_data: "id,total,paid_on\n#{csv}")
    assert_predicate status, :success?, err
    assert_equal 3000, out.lines.size
    assert_equal '{"id":2999,"total":2999.5,"paid_on":"2026-01-01"}', out.lines(chomp: true).last
  end

  def test_webhooks
    lines = run_example("webhooks").lines(chomp: true)
    assert_equal "0: opened in repository 1", lines.first
    assert_match(/\A1: validate failed: .*action/, lines[1])
    assert_match(/\A2: validate failed: .*repository/, lines[2])
    assert_match(/\A3: JSON: /, lines[3])
  end

  def test_kafka_consumer
    assert_equal "first: 5\nlast: 4\n", run_example("kafka_consumer").lines.grep(/\A(first|last)/).join
  end

  def test_queue
    assert_equal "328350\n", run_example("queue")
  end

  private

  def run_example(name, *arguments)
    out, err, status = run_command([RbConfig.ruby, "examples/#{name}.rb", *arguments])
    assert_predicate status, :success?, "#{out}\n#{err}"
    out
  end
end
