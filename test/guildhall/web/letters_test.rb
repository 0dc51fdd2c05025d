# frozen_string_literal: true

require "test_helper"
require "guildhall/web"
require "guildhall/kafka/testing"
require "rack/lint"
require "rack/mock_request"

# Replay and discard from the dashboard, on the embedded broker; test/integration/scenarios/web_actions.rb has kills and several replicas.
class WebLettersTest < GuildhallTest
  SOURCE = {"source_topic" => "orders", "source_partition" => "0", "source_consumer_group" => "shop"}.freeze
  PAGE = "/dead-letters/dead"

  def setup
    @broker = Guildhall::Kafka::Testing::EmbeddedBroker.start
    %w[orders dead other].each { |name| @broker.create_topic(name, partitions: 1) }
    @allowed = %i[read payload replay discard]
    @acted = acted = []
    @application = Guildhall::Kafka::Application.new
    @application.config.kafka = {"bootstrap.servers": @broker.bootstrap_servers}
    @application.config.group_id = "shop"
    @application.config.logger = nil
    @application.routes.draw do
      topic "orders" do
        consumer(Class.new(Guildhall::Kafka::Consumer) { def consume = nil })
        dead_letter_queue topic: "dead"
      end
    end
    @application.instrumentation.subscribe("dashboard.acted") { |event| acted << event.payload.values_at(:by, :action, :target, :outcome) }
    @web = Guildhall::Web.new(application: @application, authorize: ->(_request, action, _target) { "ada" if @allowed.include?(action) })
    @done = done = []
    @web.cluster.define_singleton_method(:offsets) { |_group, _topic| done } # the mock cluster answers no such question
    @web.cluster.define_singleton_method(:topic) { |name| name == "other" or raise Guildhall::Kafka::UnknownTopicError.new(name, %w[other]) }
    letters("KeyError" => 3, "Timeout::Error" => 2)
  end

  def teardown
    @web.close
    @application.producer.close
    @broker.stop
  end

  def letters(numbers)
    @sent ||= -1
    @application.producer.produce_many_sync(numbers.flat_map do |error, count|
      Array.new(count) do
        {topic: "dead", payload: (@sent += 1).to_s, key: "k",
         headers: {**SOURCE, "source_offset" => @sent.to_s, "source_error_class" => error, "source_error_place" => "a.rb:1"}}
      end
    end)
  end

  def data(path)
    response = Rack::MockRequest.new(Rack::Lint.new(@web)).get(path, "HTTP_ACCEPT" => "application/json")
    assert_equal 200, response.status, response.body
    JSON.parse(response.body)
  end

  def post(path, token = data(path)["token"])
    Rack::MockRequest.new(Rack::Lint.new(@web)).post(path, params: {token:}, "HTTP_SEC_FETCH_SITE" => "same-origin")
  end

  def payloads(topic = "orders")
    [].tap { |found| @application.each_message(topic) { |message| found << message.raw_payload } }
  end

  def marks = data("#{PAGE}?all=1")["letters"].sort_by { |row| row["offset"] }.map { |row| row["mark"] }
  def job = data(PAGE)["job"]
  def ended = eventually { !job["running"] }

  def test_what_the_filter_shows_is_replayed_and_what_came_later_is_not
    path = "#{PAGE}/replay?cause=KeyError%20at%20a.rb:1"
    plan = data(path)
    assert_equal ["Replay 3 dead letters", [["from orders", 3]]], [plan["button"], plan["rows"].map { |row| row.values_at("what", "value") }]
    letters("KeyError" => 1)
    assert_equal 303, post(path, plan["token"]).status
    ended
    assert_equal [%w[0 1 2], ["replayed", "replayed", "replayed", nil, nil, nil]], [payloads, marks]
    assert_equal "Replay of 3 dead letters: done, 3 replayed", job["text"]
    assert_equal [["ada", :replay, "dead", "Replay of 3 dead letters: in progress, 0 replayed"],
                  ["ada", :replay, "dead", "Replay of 3 dead letters: done, 3 replayed"]], @acted
  end

  # At once, on a broker that serves one producer of an id: test/integration/scenarios/web_actions.rb.
  def test_two_people_who_have_seen_the_same_letters_replay_each_once
    plans = Array.new(2) { data("#{PAGE}/replay")["token"] }
    assert_equal([303, 303], plans.map { |token| post("#{PAGE}/replay", token).status.tap { ended } })
    assert_equal ["Replay of 5 dead letters: done, 0 replayed", %w[0 1 2 3 4]], [job["text"], payloads]
  end

  def test_selected_ones_to_another_topic
    path = "#{PAGE}/replay?selected=1&letter[]=0@1&letter[]=0@4&to=other"
    assert_equal "Replay 2 dead letters to other", data(path)["button"]
    post(path)
    ended
    assert_equal [%w[1 4], [nil, "replayed", nil, nil, "replayed"]], [payloads("other"), marks]
    assert_equal [404, 400], ["/dead-letters/dead/replay?to=nowhere", "/dead-letters/dead/replay?to=dead"].map { |one| Rack::MockRequest.new(@web).get(one).status }
  end

  def test_nothing_is_selected_and_nothing_is_left
    plan = data("#{PAGE}/replay?selected=1")
    assert_equal [nil, nil, ["No letter was selected."]], plan.values_at("button", "token", "says")
    post("#{PAGE}/discard")
    ended
    assert_equal [["discarded"] * 5, nil], [marks, data("#{PAGE}/replay")["button"]]
    assert_equal "Discarding of 5 dead letters: done, 5 discarded", job["text"]
  end

  def test_another_one_has_to_end_first
    @web.letter_jobs.define_singleton_method(:work) { |*| nil }
    post("#{PAGE}/replay")
    assert_equal [true, 0, 5], job.values_at("running", "done", "total")
    response = post("#{PAGE}/discard")
    assert_equal 409, response.status
    assert_includes response.body, "ada has asked for another one: Replay of 5 dead letters: in progress, 0 replayed. Stop that one first, or wait."
    assert_equal 303, post("#{PAGE}/stop").status
    assert_equal "Replay of 5 dead letters: stopped, 0 replayed; by ada", job["text"]
    assert_equal [nil] * 5, marks
  end

  def test_a_form_that_stops_a_job_stops_no_later_one
    @web.letter_jobs.define_singleton_method(:work) { |*| nil }
    post("#{PAGE}/replay")
    stop = data("#{PAGE}/stop")["token"]
    post("#{PAGE}/stop")
    post("#{PAGE}/discard")
    assert_equal 303, post("#{PAGE}/stop", stop).status
    assert_equal [true, "Discarding of 5 dead letters: in progress, 0 discarded"], job.values_at("running", "text")
  end

  def test_a_process_of_the_page_goes_on_with_what_another_one_has_begun
    @web.letter_jobs.define_singleton_method(:work) { |*| nil }
    post("#{PAGE}/replay")
    next_web = Guildhall::Web.new(application: @application, authorize: ->(*) { "bob" })
    look = -> { JSON.parse(Rack::MockRequest.new(next_web).get(PAGE, "HTTP_ACCEPT" => "application/json").body)["job"] }
    assert_equal [true, 0], look.call.values_at("running", "done")
    next_web.letter_jobs.define_singleton_method(:now) { super() + 60 }
    eventually { !look.call["running"] }
    assert_equal [%w[0 1 2 3 4], "Replay of 5 dead letters: done, 5 replayed"], [payloads, look.call["text"]]
  ensure
    next_web&.close
  end

  def test_a_job_begins_where_one_that_was_stopped_has_not_ended_yet
    jobs = Guildhall::Web::LetterJobs.new(@web)
    begun = Thread::Queue.new
    ends = Thread::Queue.new
    jobs.define_singleton_method(:run) { |_topic, job| (begun << job.id) && ends.pop }
    job = ->(id) { Guildhall::Web::LetterJob.new(id:, action: "replay", by: "ada", filter: Guildhall::Web::LetterFilter.new, upto: {}, at: 0.0, total: 1) }
    first = jobs.send(:work, "dead", job.call("1"))
    assert_equal ["1", first], [begun.pop, jobs.send(:work, "dead", job.call("1"))]
    second = jobs.send(:work, "dead", job.call("2"))
    2.times { ends << true }
    second.join
    assert_equal ["2", true], [begun.pop, begun.empty?]
  end

  def test_what_cannot_be_replayed_is_said_and_those_before_it_are
    @application.producer.produce_sync(topic: "dead", payload: "lost", headers: SOURCE.merge("source_topic" => "gone"))
    post("#{PAGE}/replay")
    ended
    assert_equal [["replayed"] * 5 + [nil], "Replay of 6 dead letters: failed, 5 replayed; dead/0@5 came from gone, which is gone: name another topic (to)"],
      [marks, job["text"]]
  end

  def test_what_came_from_nowhere_is_left_out
    @application.producer.produce_sync(topic: "dead", payload: "lost", headers: {})
    plan = data("#{PAGE}/replay")
    assert_equal ["Replay 5 dead letters", "No header says where they came from, so they stay open unless you name a topic: 1 letter."],
      [plan["button"], plan["warnings"].last]
    assert_equal "Replay 6 dead letters to other", data("#{PAGE}/replay?to=other")["button"]
    post("#{PAGE}/replay", plan["token"])
    ended
    assert_equal [["replayed"] * 5 + [nil], "Replay of 5 dead letters: done, 5 replayed"], [marks, job["text"]]
  end

  def test_all_that_is_left_came_from_nowhere
    post("#{PAGE}/discard")
    ended
    @application.producer.produce_sync(topic: "dead", payload: "lost", headers: {})
    plan = data("#{PAGE}/replay")
    assert_equal [nil, ["No header says where they came from, so they stay open unless you name a topic: 1 letter."], ["to"]],
      [plan["button"], plan["says"], plan["fields"].map { |field| field["name"] }]
    post("#{PAGE}/replay?to=other")
    ended
    assert_equal [%w[lost], ["discarded"] * 5 + ["replayed"]], [payloads("other"), marks]
  end

  def test_who_may_not_sees_no_button
    @allowed = %i[read]
    body = Rack::MockRequest.new(@web).get(PAGE).body
    assert_equal [0, true], [body.scan("<button").size, body.include?("guildhall dlq replay --rest --topic dead")]
    assert_equal [403, 403, 403], %w[replay discard delete].map { |action| Rack::MockRequest.new(@web).get("#{PAGE}/#{action}").status }
  end

  def test_later_messages_of_the_same_key_are_counted
    @done << Data.define(:partition, :committed).new(partition: 0, committed: 3)
    @application.producer.produce_many_sync(Array.new(4) { |number| {topic: "orders", payload: "p", key: number == 2 ? "other" : "k", partition: 0} })
    assert_includes data("#{PAGE}/replay")["warnings"], "Later messages of the same key are done: 1 message. A replay comes after them."
  end

  def test_that_the_cause_is_still_there_is_said_where_it_is_known
    started = Struct.new(:at) { def last_start(groups) = groups == ["shop"] ? at : nil }.new(Time.now - 60)
    @web.cluster.singleton_class.prepend(Module.new { define_method(:reports) { started } })
    assert_match(/\AThe cause may still be there: 5 letters came after the last start/, data("#{PAGE}/replay")["warnings"].first)
  end

  def test_a_letter_of_a_partition_that_there_is_not
    @allowed << :delete_records
    %w[7@0 4294967296@0 0@4294967296].each do |letter|
      assert_equal 404, Rack::MockRequest.new(@web).get("#{PAGE}/delete?letter[]=#{letter}").status, letter
    end
  end

  # As guildhall dlq refuses them.
  def test_messages_of_a_topic_that_no_route_dead_letters_to_stay_unmarked
    @allowed << :delete_records
    @application.producer.produce_sync(topic: "other", payload: "live")
    ["replay?to=orders", "discard", "delete?letter[]=0@0"].each do |action|
      response = Rack::MockRequest.new(@web).get("/dead-letters/other/#{action}")
      assert_equal 400, response.status, action
      assert_includes response.body, "no route has other as its dead letter topic; there is dead"
    end
  end

  def test_without_routes_only_what_has_the_headers_of_a_dead_letter_is_discarded_or_deleted
    @allowed << :delete_records
    @application.producer.produce_sync(topic: "dead", payload: "live")
    @web.cluster.define_singleton_method(:routes) { [] }
    ask = ->(action) { Rack::MockRequest.new(@web).get("#{PAGE}/#{action}") }
    ["discard", "delete?letter[]=0@5"].each { |action| assert_includes ask.call(action).body, "dead/0@5 has none of the headers of a dead letter", action }
    assert_equal [200] * 3, ["discard?cause=KeyError%20at%20a.rb:1", "delete?letter[]=0@4", "replay?to=other"].map { |action| ask.call(action).status }
  end

  def test_who_may_not_replay_to_a_topic
    with = lambda do |*targets|
      web = Guildhall::Web.new(application: @application, key: "k" * 32, authorize: ->(_, action, target) { [:read, *targets].intersect?([action, target]) && "ada" })
      cluster = @web.cluster
      web.define_singleton_method(:cluster) { cluster }
      Rack::MockRequest.new(web)
    end
    path = "#{PAGE}/replay?to=other"
    assert_equal [200, 403], [%w[dead other], %w[dead]].map { |targets| with.call(*targets).get(path).status }
    token = JSON.parse(with.call("dead", "other").get(path, "HTTP_ACCEPT" => "application/json").body)["token"]
    assert_equal 403, with.call("dead").post(path, params: {token:}, "HTTP_SEC_FETCH_SITE" => "same-origin").status
  end
end
