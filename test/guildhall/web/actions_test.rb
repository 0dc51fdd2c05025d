# frozen_string_literal: true

require "test_helper"
require "support/recorded_cluster"
require "rack/lint"
require "rack/mock_request"

# What can be done from the dashboard, and by whom.
class WebActionsTest < GuildhallTest
  PATH = "/schedule/daily%20report/disable"
  KEY = "k" * 32

  def setup
    @allowed = %i[read payload switch_task]
    @user = "ada"
    @switched = []
    @enabled = true
    @acted = []
    @web = replica
  end

  # @return [Guildhall::Web] one that has the same cluster
  def replica(**)
    application = Guildhall::Kafka::Application.new
    application.config.kafka = {"bootstrap.servers": "127.0.0.1:1"}
    application.config.group_id = "shop"
    application.config.logger = nil
    application.routes.draw { schedule { task("daily report", "0 3 * * * Europe/Berlin") { |due| due } } }
    recorded = RecordedCluster.new(application.validate!)
    test = self
    fresh = nil # as a cluster remembers them
    recorded.define_singleton_method(:tasks) { fresh ||= super().map { |status| status.with(enabled: test.enabled) } }
    recorded.define_singleton_method(:forget) { fresh = nil }
    application.define_singleton_method(:switch_task) { |name, enabled| test.switch(name, enabled) }
    application.instrumentation.subscribe("dashboard.acted") { |event| test.acted << event.payload }
    web = Guildhall::Web.new(application:, key: KEY, authorize: ->(_request, action, target) { test.authorize(action, target) }, **)
    web.define_singleton_method(:cluster) { recorded }
    web
  end

  attr_reader :enabled, :acted, :asked

  def authorize(action, target)
    (@asked ||= []) << [action, target]
    @user if @allowed.include?(action)
  end

  def switch(name, enabled)
    @switching&.call
    @switched << [name, enabled]
    @enabled = enabled
  end

  def get(path = PATH, web: @web, **options) = Rack::MockRequest.new(Rack::Lint.new(web)).get(path, options)

  def post(path = PATH, web: @web, token: self.token, why: nil, **options)
    Rack::MockRequest.new(Rack::Lint.new(web)).post(path, {params: {token:, why:}.compact, "HTTP_HOST" => "example.org", "HTTP_SEC_FETCH_SITE" => "same-origin", **options}.compact)
  end

  def token(path = PATH, **) = get(path, **).body[/name="token" value="([^"]+)"/, 1]

  def test_the_question_comes_first_and_then_the_page_that_shows_what_came_of_it
    body = get.body
    assert_includes body, "No process runs it from now on"
    assert_includes body, "You are <b>ada</b>"
    assert_empty @switched
    response = post(why: "it sends each mail twice")
    assert_equal [303, [["daily report", false]]], [response.status, @switched]
    assert_equal "no-store", response["cache-control"]
    assert_match(%r{\A/schedule\?note=}, response["location"])
    shown = get(response["location"]).body
    assert_includes shown, "daily report is disabled."
    assert_includes shown, "/schedule/daily%20report/enable"
    assert_equal "rest", JSON.parse(get("/schedule?format=json").body)["tasks"].first["kind"]
    assert_equal [{by: "ada", action: :switch_task, target: "daily report", why: "it sends each mail twice", outcome: "daily report is disabled."}],
      @acted.map { |payload| payload.except(:id) }
    assert_nil post("/schedule/daily%20report/enable", token: token("/schedule/daily%20report/enable"))["set-cookie"]
    assert_equal ["daily report", true], @switched.last
  end

  def test_it_is_in_the_log
    line = Guildhall::Kafka::Logging::EventLog.new(Logger.new(log = StringIO.new))
    post(why: "too many mails")
    line.call(Struct.new(:name, :payload).new("dashboard.acted", @acted.last))
    assert_match(/WARN.*dashboard: ada asked for switch task of daily report \(too many mails\): daily report is disabled\.$/, log.string)
  end

  def test_two_clicks_are_one_action
    token = self.token
    assert_equal [303, 303], Array.new(2) { post(token:).status }
    assert_equal [1, 1], [@switched.size, @acted.size]
  end

  # As a server does with a request that takes too long.
  def test_an_action_whose_request_is_cut_off
    token = self.token
    switching = Thread::Queue.new
    @switching = -> { (switching << true) && sleep }
    click = Thread.new { post(token:) }
    switching.pop
    click.kill.join
    assert_equal ["its request was cut off: it may have been done"], @acted.map { |payload| payload[:outcome] }
    again = post(token:)
    assert_equal [409, []], [again.status, @switched]
    assert_includes again.body, "in a request that was cut off"
    assert_equal 1, @acted.size
  end

  def test_two_clicks_at_once_are_one_action
    token = self.token
    switching = Thread::Queue.new
    going_on = Thread::Queue.new
    @switching = -> { switching << true && going_on.pop }
    clicks = Array.new(2) { Thread.new { post(token:).status } }
    switching.pop
    going_on.close
    assert_equal [303, 303], clicks.map(&:value)
    assert_equal 1, @switched.size
  end

  def test_a_form_that_was_not_made_for_this
    good = token
    text, signature = good.split(".")
    other = Guildhall::Web::Seal.new("o" * 32).write(:form, {id: "1", by: "ada", action: "switch_task", target: "daily report", expect: {"enabled" => true}}, seconds: 60)
    note = Guildhall::Web::Seal.new(KEY).write(:note, {id: "1", by: "ada", action: "switch_task", target: "daily report", expect: {"enabled" => true}}, seconds: 60)
    changed = [JSON.generate(JSON.parse(text.unpack1("m")).tap { |_, data| data["expect"]["enabled"] = false })].pack("m0").delete("=")
    [nil, "", "x", "#{text}.", ".#{signature}", "#{text}x.#{signature}", "#{changed}.#{signature}", other, note, "\xff.x", "#{good}.x"].each do |token|
      response = post(token:)
      assert_equal 403, response.status, token.inspect
      assert_includes response.body, "Nothing was done"
    end
    assert_equal 403, post("/schedule/another/disable", token: good).status
    assert_empty @switched
    assert_equal 303, post(token: good).status
  end

  def test_a_form_of_another_user
    token = self.token
    @user = "bob"
    response = post(token:)
    assert_equal 403, response.status
    assert_includes response.body, "this form was made for ada, and you are bob."
    assert_empty @switched
  end

  def test_a_form_that_is_too_old
    old = Guildhall::Web::Seal.new(KEY).write(:form, {id: "1", by: "ada", action: "switch_task", target: "daily report", expect: {}}, seconds: -1)
    response = post(token: old)
    assert_equal 409, response.status
    assert_includes response.body, "more than 5 minutes old"
    assert_includes response.body, %(href="#{PATH}?")
  end

  def test_what_is_not_so_any_more
    token = self.token
    @enabled = false
    response = post(token:)
    assert_equal [409, []], [response.status, @switched]
    assert_includes response.body, "somebody has disabled daily report meanwhile."
    assert_equal ["failed: Nothing was done: somebody has disabled daily report meanwhile."], @acted.map { |payload| payload[:outcome] }
  end

  def test_another_replica_takes_the_form_with_the_same_key
    form = token
    assert_equal 303, post(web: replica, token: form).status
    assert_equal 403, post(web: replica(key: nil), token: form).status
    assert_raises(Guildhall::ArgumentError) { replica(key: "short") }
  end

  def test_who_may_not_do_it_sees_no_button
    buttons = -> { get("/schedule").body.scan(%r{href="(/schedule/[^"]+)"}).flatten }
    assert_equal [PATH], buttons.call
    @allowed << :run_task
    assert_equal [PATH.sub("disable", "run"), PATH], buttons.call
    form = token
    @allowed = %i[read]
    assert_empty buttons.call
    assert_equal [403, 403], [get.status, post(token: form).status]
    assert_includes get.body, "has refused switch task of daily report"
    assert_includes @asked, [:switch_task, "daily report"]
    assert_empty @switched
  end

  def test_a_page_that_is_read_only
    web = replica(read_only: true)
    refute_includes get("/schedule", web:).body, "disable"
    assert_equal [403, 403], [get(web:).status, post(web:, token:).status]
    assert_empty @switched
  end

  CROSS = {
    "nothing" => {}, "another site" => {"HTTP_SEC_FETCH_SITE" => "cross-site", "HTTP_ORIGIN" => "http://example.org"},
    "another port" => {"HTTP_SEC_FETCH_SITE" => "same-site"}, "nobody" => {"HTTP_SEC_FETCH_SITE" => "none"},
    "another host" => {"HTTP_ORIGIN" => "http://evil.example"}, "another port by Origin" => {"HTTP_ORIGIN" => "http://example.org:81"},
    "another scheme's port" => {"HTTP_ORIGIN" => "https://example.org", "HTTP_HOST" => "example.org:80"},
    "the host as a part" => {"HTTP_ORIGIN" => "http://example.org.evil.example"}, "the host as a user" => {"HTTP_ORIGIN" => "http://example.org@evil.example"},
    "no origin" => {"HTTP_ORIGIN" => "null"}, "another than the proxy's" => {"HTTP_ORIGIN" => "https://evil.example", "HTTP_X_FORWARDED_HOST" => "dash.example"}
  }.freeze
  OWN = {
    "http" => {"HTTP_ORIGIN" => "http://example.org"}, "a port" => {"HTTP_ORIGIN" => "http://10.0.0.5:9393", "HTTP_HOST" => "10.0.0.5:9393"},
    "its default" => {"HTTP_ORIGIN" => "http://example.org:80"}, "an address" => {"HTTP_ORIGIN" => "http://[fd00::1]:9393", "HTTP_HOST" => "[fd00::1]:9393"},
    "TLS at the proxy" => {"HTTP_ORIGIN" => "https://example.org"}, "a proxy's port" => {"HTTP_ORIGIN" => "https://example.org", "HTTP_HOST" => "example.org:443"},
    "a proxy's name" => {"HTTP_ORIGIN" => "https://dash.example", "HTTP_HOST" => "10.0.0.5:9393", "HTTP_X_FORWARDED_HOST" => "dash.example"},
    "several proxies" => {"HTTP_ORIGIN" => "https://dash.example", "HTTP_X_FORWARDED_HOST" => "inner.example, dash.example"}, "a new browser" => {"HTTP_SEC_FETCH_SITE" => "same-origin"}
  }.freeze

  def test_another_site_can_send_nothing
    form = token
    CROSS.each do |what, headers|
      response = post(token: form, **{"HTTP_SEC_FETCH_SITE" => nil, **headers})
      assert_equal 403, response.status, what
      assert_includes response.body, "Sec-Fetch-Site", what
    end
    assert_empty @switched
  end

  def test_this_host_can_over_http_and_behind_proxies
    OWN.each do |what, headers|
      @enabled = true
      assert_equal 303, post(**{"HTTP_SEC_FETCH_SITE" => nil, **headers}).status, what
    end
    assert_equal OWN.size, @switched.size
  end

  def test_only_by_post_and_only_where_there_is_something_to_do
    get("#{PATH}?token=#{token}&why=x")
    assert_equal 405, post("/schedule").status
    assert_equal 405, Rack::MockRequest.new(@web).delete(PATH).status
    assert_empty @switched
  end

  def test_a_body_that_is_none
    response = Rack::MockRequest.new(@web).post(PATH, input: "token=%ff&a=1&a[b]=2", "HTTP_SEC_FETCH_SITE" => "same-origin")
    assert_equal 403, response.status
    assert_equal 403, Rack::MockRequest.new(@web).post(PATH, input: "token=#{token}&x=#{"x" * 200_000}", "HTTP_SEC_FETCH_SITE" => "same-origin").status
    assert_empty @switched
  end

  def test_below_a_path_and_with_a_theme
    response = Rack::MockRequest.new(@web).post("#{PATH}?theme=dark", params: {token:}, "SCRIPT_NAME" => "/guildhall", "HTTP_SEC_FETCH_SITE" => "same-origin")
    assert_match(%r{\A/guildhall/schedule\?note=.*theme=dark}, response["location"])
  end

  def test_a_note_of_somebody_else_is_not_shown
    refute_includes get("/schedule?note=You%20have%20won").body, "You have won"
  end

  def test_a_broker_that_does_not_answer
    @switching = -> { raise Guildhall::Kafka::UnreachableError.new(-195, "_TRANSPORT", "no answer") }
    form = token
    assert_equal [503, 503], Array.new(2) { post(token: form).status }
    assert_equal ["failed: no answer"], @acted.map { |payload| payload[:outcome] }
  end
end
