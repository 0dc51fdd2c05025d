# frozen_string_literal: true

# broker: real (the embedded one forgets offsets that are sent to a transaction)
# stress: more letters, more kills
#
# Proves that dead letters which are replayed from the dashboard come back once each, to whoever reads what is committed: while the page's
# process is killed (-9) between its steps and another one goes on, while two people click at once in two replicas of it; that a replay can
# be stopped in another replica, and shows how far it is; that letters are deleted only where that is allowed, and only as the page said.
require_relative "../support/scenario"
require "guildhall/web"
require "rack/mock_request"

# So that there is time between two steps.
module Slowly
  def run = super.tap { sleep(0.3) if ENV["SLOWLY"] }
end
Guildhall::Kafka::Broker::LetterChanges.prepend(Slowly)

Scenario.run do
  name = topic
  dead = topic(name: "dead", partitions: 2)
  configure
  routes do
    topic(name) do
      consumer(Class.new(Guildhall::Kafka::Consumer) { def consume = nil })
      dead_letter_queue(topic: dead)
    end
  end
  key = "k" * 32
  allowed = %i[read payload replay discard]
  replica = -> { Guildhall::Web.new(key:, authorize: ->(_request, action, _target) { "ada" if allowed.include?(action) }) }
  webs = Array.new(2) { replica.call }
  get = ->(path, web = webs.first) { Rack::MockRequest.new(web).get(path, "HTTP_ACCEPT" => "application/json") }
  data = lambda do |path, web = webs.first|
    response = get.call(path, web)
    equal(200, response.status, "#{path}: #{response.body}")
    JSON.parse(response.body)
  end
  post = lambda do |path, token, web = webs.first|
    Rack::MockRequest.new(web).post(path, params: {token:, why: "a scenario"}, "HTTP_SEC_FETCH_SITE" => "same-origin")
  end
  letters = lambda do |numbers, error: "KeyError", partition: 0|
    produce(dead, numbers.map do |number|
      source = {"source_topic" => name, "source_partition" => "0", "source_offset" => number.to_s, "source_consumer_group" => group}
      {payload: number.to_s, key: "k#{number}", partition:, headers: {**source, "source_error_class" => error, "source_error_place" => "app.rb:#{error.size}"}}
    end)
  end
  back = lambda do
    found = []
    Guildhall::Kafka.application.each_message(name) { |message| found << message.raw_payload.to_i }
    found
  end
  page = "/dead-letters/#{dead}"
  job = ->(web = webs.first) { data.call(page, web)["job"] }
  noted = -> { JSON.parse(Guildhall::Kafka.application.dead_letters(dead, &:noted)) }

  letters.call(0...5)
  letters.call(5...8, error: "Timeout::Error", partition: 1)
  cause = "?cause=#{Rack::Utils.escape("Timeout::Error at app.rb:14")}"
  plan = data.call("#{page}/replay#{cause}")
  equal(["Replay 3 dead letters", [["from #{name}", 3]]], [plan["button"], plan["rows"].map { |row| row.values_at("what", "value") }], "the question")
  letters.call([8], error: "Timeout::Error", partition: 1) # it came after the question
  response = post.call("#{page}/replay#{cause}", plan["token"])
  equal([303, true], [response.status, response["location"].start_with?(page)], response.body)
  eventually("the replay") { job.call["running"] == false }
  equal([5, 6, 7], back.call, "what the filter has shown")
  equal("Replay of 3 dead letters: done, 3 replayed", job.call["text"], "what came of it")
  post.call("#{page}/replay#{cause}", plan["token"], webs.last) # the same form in another replica
  eventually("the second click") { job.call(webs.last)["running"] == false }
  equal([5, 6, 7], back.call, "two clicks")

  plan = data.call("#{page}/discard?selected=1&letter[]=0@1&letter[]=1@3")
  equal("Discard 2 dead letters", plan["button"], "selected ones")
  post.call("#{page}/discard", plan["token"])
  eventually("discarded") { data.call(page)["open"] == 4 }
  equal(nil, data.call("#{page}/replay?selected=1")["button"], "nothing is selected")

  # Two people in two replicas, at once.
  plans = webs.map { |web| [web, data.call("#{page}/replay", web)["token"]] }
  plans.map { |web, token| Thread.new { post.call("#{page}/replay", token, web).status } }.each(&:value)
  eventually("both") { webs.none? { |web| job.call(web)["running"] } && data.call(page)["open"].zero? }
  equal([0, 2, 3, 4, 5, 6, 7], back.call.sort, "two people at once")

  # A process of the page is killed between the steps; the next one goes on.
  ENV["SLOWLY"] = "1"
  total = long? ? 1_900 : 1_200
  letters.call(100...(100 + total))
  kills = 0
  token = data.call("#{page}/replay")["token"]
  served = lambda do |&step|
    fork do
      trap(:TERM, "DEFAULT")
      Guildhall::Kafka.reset
      configure
      own = replica.call
      step&.call(own)
      loop do
        data.call(page, own)
        sleep(0.2)
      end
    rescue Exception => error # rubocop:disable Lint/RescueException -- of a child
      warn("the page's process: #{error.full_message}")
    ensure
      exit!
    end
  end
  begin
    pid = served.call { |own| post.call("#{page}/replay", token, own) }
    eventually("it has begun") { noted.call["total"] == total }
    (long? ? 5 : 2).times do
      before = noted.call["done"]
      eventually("some more", 60) { noted.call["done"] > before }
      Process.kill(:KILL, pid)
      Process.wait(pid)
      pid = nil
      kills += 1
      break if noted.call["state"] != "running" # it was done before the kill

      pid = served.call
    end
    eventually("the rest", 120) { noted.call["state"] != "running" }
  ensure
    Process.kill(:KILL, pid) && Process.wait(pid) if pid
  end
  equal("Replay of #{total} dead letters: done, #{total} replayed", job.call["text"], "after #{kills} kills")
  came = back.call.select { |number| number >= 100 }
  equal([total, total], [came.uniq.size, came.size], "none is missing, none came twice")

  # Stopped.
  letters.call(5_000...6_500)
  token = data.call("#{page}/replay")["token"]
  starting = Thread.new { post.call("#{page}/replay", token) }
  eventually("some") { noted.call.then { |now| now["total"] == 1_500 && now["done"].positive? } }
  post.call("#{page}/stop", data.call("#{page}/stop", webs.last)["token"], webs.last)
  starting.join
  ENV.delete("SLOWLY")
  check(job.call["text"].match?(/stopped, \d+ replayed; by ada/), job.call["text"])
  eventually("the thread has ended") { webs.first.letter_jobs.instance_variable_get(:@threads).values.none?(&:alive?) }
  came = back.call.count { |number| number >= 5_000 }
  equal([came, 1_500 - came], [job.call["done"], data.call(page)["open"]], "what was done, what is left")
  check(came < 1_500, "it was done before it was stopped")

  # Deleted for good.
  equal(403, get.call("#{page}/delete?letter[]=0@2").status, "not allowed")
  allowed << :delete_records
  plan = data.call("#{page}/delete?letter[]=0@2")
  equal(["Delete 3 letters for good", 3], [plan["button"], plan["rows"].first["value"]], "the question")
  post.call("#{page}/delete", plan["token"])
  equal(3, Guildhall::Kafka.application.dead_letters(dead) { |one| one.ranges[0].begin }, "what is left begins at")
  equal(409, post.call("#{page}/delete", data.call("#{page}/delete?letter[]=0@4")["token"].then { |form| post.call("#{page}/delete", form) && plan["token"] }, webs.last).status,
    "what was asked for before")
  notes << "#{kills} kills"
ensure
  webs&.each(&:close)
end
