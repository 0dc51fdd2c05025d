# frozen_string_literal: true

require "test_helper"
require "support/recorded_cluster"
require "support/recorded_reports"
require "guildhall/kafka/commanding/commander"
require "rack/lint"
require "rack/mock_request"

# Commands from the dashboard: who may send which, what is said before, what is sent, and what became of it.
class WebCommandsTest < GuildhallTest
  Commanding = Guildhall::Kafka::Commanding
  PROCESS = "shop-consumer-6f9d-d7m1:17:a"
  PARTITION = "/commands/%s/shop/payments/1"

  # Takes what is to be sent.
  class Commander
    attr_reader :issued, :sent
    attr_accessor :outcome

    def initialize
      @issued = []
      @sent = []
      @outcome = [:done, "payments/1: paused until 04:00"]
    end

    def issue(action, target, **given)
      @issued << [action, target, given]
      command = Commanding::Command.make(action:, target:, **given.except(:wait))
      @sent << Commanding::Commander::Sent.new(command:, at: Time.now, signed: true)
      outcomes = [*@outcome&.then { |outcome, reason| Commanding::Commander::Outcome.new(command: command.id, process: PROCESS, outcome:, reason:) }]
      Commanding::Commander::Answer.new(command:, outcomes:)
    end
  end

  def setup
    @allowed = [:read, :payload, *Commanding::ACTIONS]
    @asked = []
    @commander = Commander.new
    @cluster = RecordedCluster.new
    @cluster.reported = RecordedReports.shop
    commander = @commander
    @cluster.define_singleton_method(:commands) { |_| commander.sent.reverse }
    committed = @committed = [nil]
    @cluster.define_singleton_method(:seek_plan) { |*_place, to: nil, **| Struct.new(:from, :to).new(committed.first, to == :earliest ? 0 : to) }
    @web = web
    @web.define_singleton_method(:commander) { commander }
  end

  def web(**)
    application = Guildhall::Kafka::Application.new
    application.config.kafka = {"bootstrap.servers": "127.0.0.1:1"}
    application.config.logger = nil
    cluster = @cluster
    authorize = lambda do |_request, action, target|
      @asked << [action, target]
      "ada" if @allowed.include?(action)
    end
    Guildhall::Web.new(application:, key: "k" * 32, authorize:, **).tap { |web| web.define_singleton_method(:cluster) { cluster } }
  end

  def get(path, web: @web) = Rack::MockRequest.new(Rack::Lint.new(web)).get(path)
  def data(path) = JSON.parse(get("#{path}?format=json").body)

  def post(path, token: get(path).body[/name="token" value="([^"]+)"/, 1], why: "bad release")
    Rack::MockRequest.new(Rack::Lint.new(@web)).post(path, {params: {token:, why:}.compact, "HTTP_HOST" => "example.org", "HTTP_SEC_FETCH_SITE" => "same-origin"})
  end

  def last = @commander.issued.last

  def test_each_page_has_its_buttons
    {"/groups/shop/payments/1" => PARTITION, "/groups/shop/payments" => "/commands/%s/shop/payments", "/groups/shop" => "/commands/%s/shop"}.each do |page, path|
      body = get(page).body
      %w[pause resume retry].each { |action| assert_includes body, %(href="#{format(path, action)}"), page }
    end
    assert_includes get("/groups/shop/payments/1").body, format(PARTITION, "seek")
    %w[quiet resume stop trace].each { |action| assert_includes get("/processes/#{PROCESS}").body, "/processes/#{PROCESS.gsub(":", "%3A")}/#{action}" }
  end

  def test_who_may_not_sees_no_button_and_can_do_nothing
    token = get(format(PARTITION, "pause")).body[/name="token" value="([^"]+)"/, 1]
    @allowed -= %i[pause]
    body = get("/groups/shop/payments/1").body
    assert_equal [false, true], [body.include?("/commands/pause"), body.include?("/commands/retry")]
    assert_includes @asked, [:pause, "shop"]
    assert_equal [403, 403], [get(format(PARTITION, "pause")).status, post(format(PARTITION, "pause"), token:).status]
    assert_empty @commander.issued
  end

  def test_a_pause
    path = format(PARTITION, "pause")
    body = get(path).body
    assert_includes body, "Pause it for 1 hour"
    assert_includes body, "It is with "
    assert_includes body, "where it has moved by then, nothing is done."
    response = post("#{path}?for=15+minutes")
    assert_equal [303, 1], [response.status, @commander.issued.size]
    action, target, given = last
    assert_equal [:pause, {group: "shop", topic: "payments", partition: 1}, {seconds: 900}, "ada", "bad release"], [action, target, *given.values_at(:args, :by, :why)]
    assert_equal %i[process assigned], given[:expect].keys
    assert_in_delta Time.now.to_f - 660, given[:expect][:assigned], 60
    assert_match(%r{\A/groups/shop/payments/1\?note=}, response["location"])
    assert_includes get(response["location"]).body, "payments/1: paused until 04:00"
  end

  def test_two_clicks_are_one_command
    path = format(PARTITION, "retry")
    token = get(path).body[/name="token" value="([^"]+)"/, 1]
    2.times { assert_equal 303, post(path, token:).status }
    assert_equal 1, @commander.issued.size
  end

  # It would be valid for the same group.
  def test_the_form_of_another_partition
    token = get(format(PARTITION, "retry")).body[/name="token" value="([^"]+)"/, 1]
    assert_equal 403, post("/commands/retry/shop/payments/2", token:).status
    assert_empty @commander.issued
  end

  def test_a_seek_says_before_what_is_skipped
    path = format(PARTITION, "seek")
    assert_includes get(path).body, "Say where it is to go on."
    position = data("/groups/shop/payments/1")["row"]["position"]
    body = get("#{path}?to=#{position + 88}").body
    assert_includes body, "Seek to #{position + 88}"
    assert_match(%r{never consumed</th><td class="n over">88}, body)
    assert_includes body, "unless somebody moves it back"
    post("#{path}?to=earliest")
    assert_equal [:seek, {to: 0}, position], [last.first, last.last[:args], last.last[:expect][:position]]
  end

  # What the process has done and what is committed need not be the same.
  def test_a_seek_says_where_the_process_is_and_what_is_committed
    path = format(PARTITION, "seek")
    position = data("/groups/shop/payments/1")["row"]["position"]
    committed = @committed[0] = position - 12
    plan = JSON.parse(get("#{path}?to=#{position + 5}&format=json").body)
    assert_equal [position, committed, 12, position + 5, 5, 0], plan["rows"].map { |row| row["value"] }
    assert_equal "It goes by the position of the process, not by what is committed.", plan["says"].first
    plan = JSON.parse(get("/commands/seek/shop/payments/99?to=#{committed}&format=json").body)
    assert_equal ["not known", committed, committed, 0, 0], plan["rows"].map { |row| row["value"] }
    assert_equal "No process has reported its position, so it goes by what is committed.", plan["says"].first
    @committed[0] = position
    assert_equal "It goes by the position of the process, which is what is committed.", JSON.parse(get("#{path}?to=0&format=json").body)["says"].first
  end

  def reported(*processes)
    @cluster.reported = RecordedReports.new.tap do |reports|
      processes.each_with_index do |(name, more), index|
        reports.state(name, {%w[shop payments] => [RecordedReports.row(:working, index)]}, **more)
      end
    end
  end

  def commands(path) = data(path).then { |found| [found["commands"].map { |one| one["action"] }, found["commands_note"]] }

  def test_only_commands_that_the_process_takes_have_buttons
    reported(["a:1:x", {commands: %w[pause quiet trace]}], ["b:2:x", {commands: []}], ["c:3:x", {}], ["d:4:x", {commands: %w[quiet stop], state: "stopped"}])
    off = "no commands: they are off there (config.commands)."
    assert_equal [%w[quiet trace], "Not allowed there (config.commands, allow:): resume, stop."], commands("/processes/a:1:x")
    assert_equal [[], "The process takes #{off}"], commands("/processes/b:2:x")
    assert_equal [%w[quiet resume trace stop], nil], commands("/processes/c:3:x"), "an earlier release does not say it"
    assert_equal [[], "It has ended, and takes no commands."], commands("/processes/d:4:x")
    assert_equal [%w[quiet resume trace stop], nil], commands("/processes/nobody:1:x")
    assert_equal [%w[pause], "Not allowed there (config.commands, allow:): resume, retry now, seek."], commands("/groups/shop/payments/0")
    assert_equal [[], "The process takes #{off}"], commands("/groups/shop/payments/1")
    assert_includes get("/groups/shop/payments/1").body, "The process takes no commands"
    assert_equal [%w[pause resume retry], "1 of 3 processes takes #{off}"], commands("/groups/shop/payments")
    assert_equal commands("/groups/shop/payments"), commands("/groups/shop")
    @allowed = [:read]
    assert_equal [[], nil], commands("/processes/b:2:x")
  end

  def test_commands_to_a_process
    {"quiet" => :quiet, "resume" => :resume, "stop" => :stop, "trace" => :trace}.each do |word, action|
      assert_equal 303, post("/processes/#{PROCESS}/#{word}").status
      assert_equal [action, {process: PROCESS}], last.first(2)
    end
    assert_includes @asked, [:stop, PROCESS]
  end

  def test_what_becomes_of_it
    @commander.outcome = [:refused, "the position is 5 by now"]
    response = post(format(PARTITION, "retry"))
    assert_equal 409, response.status
    assert_includes response.body, "Nothing was done: the position is 5 by now"
    @commander.outcome = nil
    response = post(format(PARTITION, "retry"), why: nil)
    assert_includes get(response["location"]).body, "no process has answered within 5 seconds"
    assert_equal "(no reason was given)", last.last[:why]
  end

  def test_the_page_of_commands
    assert_includes get("/commands").body, "Nobody has sent one."
    post(format(PARTITION, "pause"), why: "<b>bad</b>")
    row = data("/commands")["rows"].first
    assert_equal ["pause for 1h00m", "payments/1 (group shop)", "ada", true, [], true], row.values_at("what", "target", "by", "signed", "outcomes", "open")
    id = row["id"]
    @cluster.reported.event(PROCESS, "outcome", "x", ago: 0, command: id, outcome: "done", reason: "payments/1: paused", action: "pause", by: "ada", trace: %w[one two])
    body = get("/commands").body
    assert_includes body, "payments/1: paused"
    assert_includes body, "&lt;b&gt;bad"
    assert_includes body, ">one\ntwo</pre>"
    assert_equal %w[done], data("/commands")["rows"].first["outcomes"].map { |one| one["outcome"] }
    @commander.sent.replace([@commander.sent.first.with(at: Time.now - 600, signed: false)])
    assert_includes get("/commands").body, "not signed with this page"
  end

  def test_commands_are_off
    [{}, {commands: nil}, {commands: {private_key: nil}}].each do |given|
      off = web(**given)
      body = get("/commands", web: off).body
      assert_includes body, "Commands are off"
      assert_includes body, "guildhall command keys"
      refute_includes get("/groups/shop/payments/1", web: off).body, "/commands/pause"
      body = get(format(PARTITION, "pause"), web: off).body
      assert_includes body, "This page sends no commands"
      refute_includes body, "name=\"token\""
    end
    private_key, public_key = Commanding::Keys.generate
    on = web(commands: {private_key:})
    assert_kind_of Commanding::Commander, on.commander
    assert_same on.commander, on.commander
    refute_includes on.inspect, private_key, "which rails routes prints"
    assert_kind_of Commanding::Commander, web(commands: {insecure: true}).commander
    assert_match(/is the public key/, assert_raises(Guildhall::ArgumentError) { web(commands: {private_key: public_key}).commander }.message)
  end
end
