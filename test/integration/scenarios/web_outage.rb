# frozen_string_literal: true

# broker: real
#
# Proves what the dashboard says while the broker is killed, or frozen: within a time a 503 with what to do, on each page and for many
# viewers at once, and the messages again once it is back, without a restart.
# On a broker of its own.
require_relative "../support/scenario"
require "guildhall/web"
require "rack/mock_request"

Scenario.run do
  broker = own_broker or next

  name = topic
  configure(librdkafka: {"reconnect.backoff.max.ms": 500})
  produce(name, Array.new(20) { |id| {payload: JSON.generate(id:), partition: 0} })
  web = Guildhall::Web.new(authorize: ->(*) { true })
  get = ->(path) { Rack::MockRequest.new(web).get("#{path}?format=json") }
  pages = ["/", "/groups", "/topics", "/topics/#{name}", "/topics/#{name}/messages", "/topics/#{name}/0/7"]
  well = -> { pages.to_h { |path| [path, get.call(path)] }.reject { |_, response| response.status == 200 } }
  equal({}, well.call.transform_values(&:body), "before")

  outage = lambda do |what, &back|
    sleep(Guildhall::Web::FRESH_SECONDS + 0.1)
    took, answers = timed { pages.map { |path| Thread.new { get.call(path) } }.map(&:value) }
    equal([503], answers.map(&:status).uniq, "#{what}: #{answers.map(&:body)}")
    check(answers.all? { |answer| answer.body.include?(@servers) }, "#{what}: #{answers.map(&:body)}")
    check(took < 120, "#{what}: it took #{took.round} s")
    back.call
    left = nil
    eventually("#{what}: all pages are back: #{left}", 60) { (left = well.call).empty? }
    equal([*0..19].reverse, JSON.parse(get.call(pages[4]).body)["rows"].map { |row| row["offset"] }, "#{what}: messages")
  end
  broker.kill
  outage.call("killed") { broker.resume }
  Process.kill(:STOP, broker.pid)
  outage.call("frozen") { Process.kill(:CONT, broker.pid) }
  web.close
end
