# frozen_string_literal: true

require "test_helper"
require "support/recorded_cluster"
require "support/recorded_reports"
require "rack/lint"
require "rack/mock_request"

# Pages of what processes report, in every state, on recorded reports.
class WebReportedPagesTest < GuildhallTest
  PROCESS = "shop-consumer-6f9d-d7m1:17:a"
  PAGES = ["/", "/?numbers=1", "/groups", "/groups/shop", "/groups/shop/payments", "/groups/shop/payments?sort=lag&numbers=1", "/groups/shop/payments/1",
           "/groups/shop/payments/1?numbers=1", "/groups/shop-orders/orders/0", "/groups/shop/orders/99", "/groups/shop/nothing", "/processes", "/processes?sort=memory&page=2",
           "/processes/#{PROCESS}", "/processes/#{PROCESS}?numbers=1", "/processes/nobody", "/changes", "/pool", "/errors", "/errors/bb22", "/errors/bb22?numbers=1", "/errors/nope",
           "/jobs", "/status", "/topics"].freeze
  LINE = "config.reports = true"

  def setup
    @application = Guildhall::Kafka::Application.new
    @application.config.kafka = {"bootstrap.servers": "127.0.0.1:1"}
    @cluster = RecordedCluster.new
    @web = web { true }
  end

  def web(&allowed)
    cluster = @cluster
    Guildhall::Web.new(application: @application, authorize: ->(_request, action, target) { allowed.call(action, target) }).tap do |web|
      web.define_singleton_method(:cluster) { cluster }
    end
  end

  def get(path, web: @web)
    response = Rack::MockRequest.new(Rack::Lint.new(web)).get(path)
    assert_equal 200, response.status, "#{path}: #{response.body[/<h2>This page.*/m]}"
    response.body
  end

  def data(path) = JSON.parse(get("#{path}#{path.include?("?") ? "&" : "?"}format=json"))

  def each_page
    PAGES.each do |path|
      yield path, get(path)
      data(path)
    end
  end

  def test_without_reports_each_page_says_which_line_switches_them_on
    each_page { |path, body| assert_includes body, LINE, path unless path.match?(/status|topics/) }
    assert_includes get("/status"), LINE
  end

  def test_a_page_that_no_table_has
    get("/processes?page=#{"9" * 30}")
  end

  def test_where_the_application_has_that_line_it_is_a_process_that_is_missing
    @application.config.reports = true
    each_page { |path, body| assert_includes body, "start `guildhall server`", path unless path.match?(/topics/) }
  end

  # It is no fault that they are off, but one that they do not come.
  def test_reports_are_checked_where_they_are_wanted
    check = -> { data("/status")["checks"].find { |one| one["what"] == "Reports" }["ok"] }
    assert check.call
    @application.config.reports = true
    refute check.call
    @cluster.reported = RecordedReports.calm
    assert check.call
  end

  def test_while_reports_are_being_read
    @cluster.reported = RecordedReports.new(phase: :reading)
    each_page { |path, body| assert_includes body, "still being read", path unless path.match?(/topics/) }
  end

  def test_reports_that_may_not_be_read
    @cluster.reported = RecordedReports.new.tap { |reports| reports.store.problem = Guildhall::Kafka::KafkaError.new(29, "TOPIC_AUTHORIZATION_FAILED", "grant READ on topic <guildhall.reports>") }
    each_page { |path, body| assert_includes body, "grant READ on topic &lt;guildhall.reports&gt;", path unless path.match?(/topics/) }
  end

  def test_a_topic_in_which_nobody_has_reported_lately
    @cluster.reported = RecordedReports.new
    each_page { |path, body| assert_includes body, LINE, path unless path.match?(/topics/) }
  end

  def test_everything_is_shown_on_a_bad_night
    @cluster.reported = RecordedReports.shop
    each_page { |path, body| refute_match(/ style=| on\w+=|<script>|<style/, body, path) }
    overview = get("/")
    ["Stalled", "Lost", "Outage", "Backing off", "payments, partitions 1, 4-5", "Dead letters", "has not reported since", "Worth knowing"].each { |text| assert_includes overview, text }
    assert_equal [["Oldest not done", 700.0], ["Not done", 97_839]], data("/")["figures"].first(2).map { |figure| figure.values_at("name", "value") }
    assert_includes get("/groups/shop-orders/orders/0"), "cus_8812"
    assert_includes get("/groups/shop/payments/1"), "app/consumers/base.rb:7:in &#39;call&#39;"
    assert_includes get("/errors/bb22"), %(href="/topics/orders/2/4711")
  end

  # One layer of data: the same sentences in the terminal, in JSON and on the page.
  def test_a_terminal_json_and_the_page_say_the_same
    @cluster.reported = RecordedReports.shop
    page = get("/")
    items = Guildhall::Kafka::Reporting::Attention.of(@cluster.reports.live.map(&:report))
    texts = data("/").values_at("attention", "notes").flatten.filter_map { |one| one["text"] }
    assert_empty items.map(&:text) - texts
    items.each { |item| assert_includes page, CGI.escapeHTML(item.why[1..]) if item.why && item.severity != :note }
  end

  def test_all_is_well
    @cluster.reported = RecordedReports.calm
    @cluster.define_singleton_method(:groups) { Guildhall::Kafka::Broker::Answer.new([group("shop")], []) }
    problems = []
    @cluster.define_singleton_method(:lag) { |_ = nil| Guildhall::Kafka::Broker::Answer.new([], problems) }
    @cluster.define_singleton_method(:topics) { [] }
    assert_includes get("/"), "Nothing needs attention"
    assert_includes get("/"), "4 partitions keep up; the oldest message that is not done is 1.9 s old."
    assert_includes get("/errors"), "No errors in 24 hours."
    refute_includes get("/"), %(<span class="count)
    error = Guildhall::Kafka::UnknownTopicError.new("orders", [])
    problems << Guildhall::Kafka::Broker::Problem.new(group: "shop", topic: "orders", partitions: nil, error:)
    assert_includes get("/"), "Nothing that is known needs attention"
  end

  def test_what_the_menu_counts
    @cluster.reported = RecordedReports.shop
    counts = get("/topics").scan(/<a href="([^"]*)"[^>]*>[\w ]+ <span class="count (\w+)" title="[^"]+">(\d+)</).to_h { |path, kind, count| [path, [kind, count.to_i]] }
    assert_equal({"/" => ["bad", 12], "/groups" => ["bad", 9], "/processes" => ["warn", 1], "/dead-letters" => ["warn", 1], "/errors" => ["warn", 1], "/schedule" => ["warn", 1]}, counts)
  end

  def test_without_the_right_to_see_payloads_nothing_that_may_quote_them_is_shown
    @cluster.reported = RecordedReports.shop
    closed = web { |action, topic| action == :read || topic == "emails" }
    PAGES.each do |path|
      body = get(path, web: closed)
      ["key not found", "Connection refused", "cus_8812"].each { |secret| refute_includes body, secret, path }
    end
    assert_includes get("/groups/shop-orders/orders/0", web: closed), "KeyError"
    assert_includes get("/errors/bb22"), "key not found"
  end

  STRANGE = ["<script>alert(1)</script>", "\u202Eevil\u202C", "a\0b\e[31m\r\n", "\"'><img src=x onerror=alert(1)>", "x" * 5_000, "ünïcödé 漢字 🦀", "../../etc/passwd", "%2F%00", "javascript:alert(1)", "a/b?c#d", " "].freeze

  def test_whatever_is_written_into_the_topic_harms_no_page
    random = Random.new(7)
    STRANGE.each do |text|
      reports = RecordedReports.new
      @cluster.reported = reports
      error = {**RecordedReports::COUNTED, "error_class" => text, "message" => text, "place" => text}
      row = {**RecordedReports.row(:keys, 0), "state" => text, "error" => error, "blocked" => text, "denied" => text,
                                              "parked" => {"keys" => 1, "messages" => 1, "oldest" => [{"key" => text, "offset" => 1, "messages" => 1, "attempt" => 1, "error" => error}]}}
      reports.state(text, {[text, text] => [row]}, release: text, guildhall: text, ruby: text, host: text, failure: text, live: [{"code" => text, "text" => text}])
      reports.event(text, text, text, group: text, topic: text)
      reports.event(text, "task_failed", text)
      reports.error(text, text, error, group: text, topic: text, partition: 1, offset: 2, backtrace: [text])
      reports.minute(text, {[text, text] => {"dead" => 5}})
      escaped = ERB::Util.url_encode(reports.view.processes.first.name)
      found = reports.view
      topic = found.topics.first
      place = [topic.group, topic.topic].map { |part| ERB::Util.url_encode(part) }.join("/")
      ["/", "/groups", "/processes", "/processes/#{escaped}", "/changes", "/pool", "/errors", "/jobs", "/status", "/groups/#{place}", "/groups/#{place}/0"].each do |path|
        response = Rack::MockRequest.new(@web).get(path)
        assert_includes [200, 404], response.status, "#{path} #{text.inspect[0, 40]} #{response.body[/<h2>This page.*/m]}"
        body = response.body
        assert_predicate body, :valid_encoding?
        refute_match(/<script>a|<img|\e|\0/, body, path)
        refute_match(/href="javascript:/i, body, path)
        JSON.parse(Rack::MockRequest.new(@web).get("#{path}?format=json").body)
      end
    end
    200.times { fuzz(random) }
    each_page { |_, body| assert_predicate body, :valid_encoding? }
  end

  # Values of any type wherever there is one.
  def fuzz(random)
    reports = @cluster.reported = RecordedReports.new
    reports.write(spoil(JSON.parse(Zlib.inflate(shop.sample(random:).raw_payload)), random))
    %w[/ /groups /processes /pool /errors /changes /status].sample(2, random:).each { |path| get(path) }
  end

  # @return [Array<PlainRecord>] those of {RecordedReports#shop}
  def shop
    @shop ||= RecordedReports.new.then do |reports|
      records = []
      reports.store.define_singleton_method(:take) { |record, **| records << record }
      reports.shop
      records
    end
  end

  def spoil(value, random)
    return [nil, 1, -1, 1.5e300, "x", [], {}, true, [[]], 10**30, {"a" => 1}].sample(random:) if random.rand < 0.03

    case value
    when Hash then value.to_h { |name, one| [name, %w[v kind].include?(name) ? one : spoil(one, random)] }
    when Array then value.map { |one| spoil(one, random) }
    else value
    end
  end

  def test_pages_of_a_long_table
    @cluster.reported = RecordedReports.large(processes: 120, partitions: 6, minutes: 1, trouble: 0)
    assert_equal [100, 2, 120], data("/processes").then { |found| [found["rows"].size, found["pages"], found["all"]] }
    assert_equal 20, data("/processes?page=2")["rows"].size
    assert_includes get("/processes?sort=name"), %(href="/processes?sort=name&amp;page=2")
    assert_equal [0, 119], data("/groups/shop/orders?sort=number").then { |found| [found["rows"].first["partition"], found["all"] - 1] }
  end

  # Two applications in one topic.
  def mail
    RecordedReports.shop.tap do |reports|
      reports.state("mail-1:5:a", {%w[mails mails] => [RecordedReports.row(:backoff, 0)]}, app: "mail")
      reports.minute("mail-1:5:a", {%w[mails mails] => {"dead" => 7, "lag" => 12}}, app: "mail")
      reports.event("mail-1:5:a", "started", "mail has started", app: "mail")
      reports.error("mail-1:5:a", "cc33", RecordedReports::COUNTED.merge("error_class" => "MailError"), app: "mail", group: "mails", topic: "mails")
    end
  end

  def test_one_of_several_applications
    @cluster.reported = mail
    assert_equal(["mail-1:5:a"], data("/processes?app=mail")["rows"].map { |row| row["name"] })
    refute_includes get("/processes?app=shop"), "mail-1"
    assert_equal([["MailError"], ["started with release 4f1c2e9: mail has started"]], [data("/errors?app=mail")["rows"].map { |row| row["class"] }, data("/changes?app=mail")["rows"].map { |row| row["text"] }])
    assert_equal(["mails"], data("/groups?app=mail")["own"].map { |row| row["name"] })
    both, one = ["/", "/?app=mail"].map { |path| data(path)["attention"].filter_map { |item| item["place"] } }
    assert_includes one, "mails/0"
    assert_empty one.grep(/payments/)
    assert_includes both, "mails/0"
    assert_equal [12, 7], @cluster.reports.of("mail").then { |view| [view.series["lag"].compact.last, view.dead.values.sum(&:first)] }
    assert_equal [[1], []], [view_processes("mail"), view_processes("nobody")]
  end

  def view_processes(app) = @cluster.reports.of(app).series["processes"].compact.uniq

  def test_all_links_and_forms_keep_the_application
    @cluster.reported = mail
    ["/", "/processes", "/errors", "/groups", "/processes/mail-1:5:a", "/topics"].each do |path|
      body = get("#{path}?app=mail&theme=dark")
      assert_includes body, "<option selected>mail</option>"
      links = body.scan(/ href="([^"]+)"/).flatten.grep_v(/assets|^#/)
      assert_empty links.grep_v(/app=mail/), path
      forms = body.scan(%r{<form.*?</form>}m).grep_v(/class="apps"/)
      assert(forms.all? { |form| form.include?(%(name="app" value="mail")) && form.include?(%(name="theme" value="dark")) }, path)
    end
    assert_includes get("/processes?app=nobody"), "No process of the application nobody has reported lately."
    assert_includes get("/processes"), "<option>mail</option>"
    @cluster.reported = RecordedReports.calm
    refute_includes get("/processes"), "all applications"
  end

  # The page's own application, and what brokers are asked of it, is none of another one's.
  def test_what_brokers_know_is_that_of_the_pages_own_application
    @cluster.reported = mail
    @application.config.client_id = "shop"
    assert_equal [["shop"], []], %w[shop mail].map { |app| data("/groups?app=#{app}")["own"].map { |row| row["name"] } & ["shop"] }
    assert_equal [200, 200], %w[shop mail].map { |app| Rack::MockRequest.new(@web).get("/groups/shop/payments?hours=6&app=#{app}").status }
    assert_equal [20, 0], %w[shop mail].map { |app| data("/?app=#{app}")["messages"] }
  end

  def test_tables_are_narrowed_by_a_text
    @cluster.reported = RecordedReports.shop
    assert_equal(["shop-consumer-6f9d-t5ra:17:a"], data("/processes?q=A03B771")["rows"].map { |row| row["name"] })
    assert_equal(%w[1 4 5], data("/groups/shop/payments?q=back")["rows"].map { |row| row["partition"].to_s }.sort)
    assert_equal([3], data("/groups/shop/payments?q=3")["rows"].map { |row| row["partition"] })
    assert_equal(["KeyError"], data("/errors?q=orders_consumer")["rows"].map { |row| row["class"] })
    assert_equal(["shop-orders"], data("/groups?q=shop-orders")["own"].map { |row| row["name"] })
    assert_equal([[], 1], data("/topics?q=x").values_at("topics", "of"))
    body = get("/processes?q=6f9d&sort=name&theme=dark")
    ["processes?sort=cpu&amp;q=6f9d&amp;theme=dark", %(name="sort" value="name"), %(name="q" value="6f9d"), "all 7"].each { |text| assert_includes body, text }
    ["/processes", "/groups/shop/payments", "/errors", "/topics", "/groups"].each { |path| assert_includes get("#{path}?q=%3Cb%3E"), "Nothing here has “&lt;b&gt;” in it.", path }
    @cluster.reported = RecordedReports.large(processes: 120, partitions: 6, minutes: 1, trouble: 0)
    assert_includes get("/processes?q=shop"), %(href="/processes?sort=trouble&amp;q=shop&amp;page=2")
  end

  # Nor can it be found out letter by letter.
  def test_what_is_hidden_is_not_searched
    @cluster.reported = RecordedReports.shop
    closed = web { |action, topic| action == :read || topic == "emails" }
    found = ->(path) { JSON.parse(get("#{path}&format=json", web: closed))["rows"].size }
    assert_equal [0, 0, 0, 1], ["/errors?q=not+found", "/groups/shop/payments?q=refused", "/groups/shop-orders/orders?q=cus_", "/errors?q=KeyError"].map { |path| found.call(path) }
    assert_equal 1, data("/errors?q=not+found")["rows"].size
  end

  def test_a_member_as_the_brokers_name_it_is_a_process
    @cluster.reported = RecordedReports.new.tap do |reports|
      groups = [{"group" => "shop", "assigned" => true, "members" => [reports.member(id: "rdkafka-7f3")]}]
      reports.state("web-1:7:a", {%w[shop orders] => [RecordedReports.row(:working, 0)]}, groups:)
    end
    members = %w[rdkafka-7f3 other].each_with_index.map do |id, number|
      Guildhall::Kafka::Admin::Groups::Member.new(id:, client_id: "shop", host: "10.0.0.7", instance_id: nil, partitions: {"orders" => [number]}, target: nil)
    end
    @cluster.define_singleton_method(:group) { |name, state = :stable, _ = nil| super(name, state, members) }
    assert_equal [%w[rdkafka-7f3 web-1:7:a], ["other", nil]], data("/groups/shop")["members"].map { |member| member.values_at("id", "process") }
    assert_equal(["web-1:7:a", nil], data("/groups/shop")["partitions"].map { |row| row["process"] })
    assert_includes get("/groups/shop"), %(href="/processes/web-1%3A7%3Aa")
  end

  def test_the_process_that_has_run_a_task
    @cluster.reported = RecordedReports.shop
    task = Guildhall::Kafka::Scheduling::Task.new("nightly", "0 3 * * *", Guildhall::Kafka::Scheduling::Task.cron("0 3 * * *"), :skip, nil)
    runs = [PROCESS, "host.example:4711"].map do |by|
      run = Guildhall::Kafka::Scheduling::State::Run.new(id: "1", due: 1_700_000_000, state: :done, at: 1_700_000_001.0, by:)
      Guildhall::Kafka::Scheduling::Status.new(task:, topic: Struct.new(:group).new("shop.schedule"), enabled: true, run:)
    end
    @cluster.define_singleton_method(:tasks) { runs }
    assert_equal([PROCESS, nil], data("/schedule")["tasks"].map { |one| one["process"] })
    body = get("/schedule")
    assert_includes body, %(href="/processes/#{PROCESS.gsub(":", "%3A")}">d7m1</a>)
    assert_includes body, "host.example:4711"
  end

  # As a browser gets it: HTML, the style sheet and both scripts.
  def test_a_first_visit_costs_little
    @cluster.reported = RecordedReports.shop
    paths = get("/").scan(%r{"(/assets/[^"]+)"}).flatten
    assets = paths.sum { |path| Rack::MockRequest.new(@web).get(path, "HTTP_ACCEPT_ENCODING" => "gzip").body.bytesize }
    assert_equal 4, paths.size
    sent = ->(path) { Rack::MockRequest.new(@web).get(path, "HTTP_ACCEPT_ENCODING" => "gzip").body.bytesize }
    PAGES.each { |path| assert_operator assets + sent.call(path), :<, 30_000, path }
    @cluster.reported = RecordedReports.large(processes: 40, partitions: 100, minutes: 5)
    %w[/ /groups/shop/orders /processes].each { |path| assert_operator assets + sent.call(path), :<, 30_000, path }
  end

  def test_a_chart_says_in_words_what_it_shows_and_has_its_numbers
    @cluster.reported = RecordedReports.shop
    body = get("/groups/shop/payments?numbers=1")
    assert_match(/role="img" aria-label="Age of the oldest message that is not done. .*from 0.8 s to 6m40s, at last/, body)
    assert_includes body, "<th>Time</th>"
    assert_includes get("/"), %(aria-label="Not done, last hour: from )
  end

  # A curve of one minute looks like nothing, and one of an hour that is empty but for it as well.
  def test_curves_of_a_system_that_has_just_begun
    show = lambda do |minutes|
      reports = @cluster.reported = RecordedReports.new
      reports.state("web:7:a", {%w[shop orders] => [RecordedReports.row(:working, 0)]})
      (1..minutes).each { |number| reports.minute("web:7:a", {%w[shop orders] => {"age" => number.to_f}}, ago: (number * 60) + 1) }
      get("/")
    end
    assert_match(/No curves yet: processes report a number for each minute/, show.call(1))
    body = show.call(4)
    assert_includes body, "Curves show the last 4 minutes: there is no older history"
    assert_equal 4, data("/")["figures"].first["series"].size
    assert_includes body, %(aria-label="Oldest not done, last 4 min: from 1 s to 4 s)
    @cluster.reported = RecordedReports.calm
    assert_includes get("/"), "Curves show the last hour"
  end

  def test_a_process_that_is_not_well_is_not_green
    @cluster.reported = RecordedReports.new.tap { |reports| reports.state("web:7:a", live: [{"code" => "stalled", "text" => "orders/0 is stalled"}]) }
    assert_equal [%w[unhealthy bad]], data("/processes")["rows"].map { |row| row.values_at("state", "kind") }
  end

  def test_a_process_is_not_green_while_its_partitions_need_a_person
    @cluster.reported = RecordedReports.new.tap { |reports| reports.state("web:7:a", {%w[shop orders] => [RecordedReports.row(:slow, 0), RecordedReports.row(:working, 1)]}) }
    assert_equal [["running", "running, 1 needs attention", "warn"]], data("/processes")["rows"].map { |row| row.values_at("state", "word", "kind") }
  end

  # A second without progress is as usual; a minute is not, and until then nobody says that it keeps up.
  def test_messages_that_have_waited_for_some_seconds_are_not_kept_up_with
    word = lambda do |age|
      row = {**RecordedReports.row(:waiting, 0), "lag" => 7, "age" => age}
      @cluster.reported = RecordedReports.new.tap { |reports| reports.state("web:7:a", {%w[shop orders] => [row]}) }
      data("/groups/shop")["topics"].first.values_at("word", "kind")
    end
    assert_equal [["keeping up", "ok"], ["messages wait", "rest"]], [9.0, 56.0].map(&word)
  end

  def silence
    error = Guildhall::Kafka::UnreachableError.new(-195, "_TRANSPORT", "Kafka at nowhere does not answer")
    %i[lag groups topics group].each { |question| @cluster.define_singleton_method(question) { |*| raise error } }
    return unless @cluster.reported

    view = @cluster.reported.view
    @cluster.define_singleton_method(:reports) { |**| view.as_reported }
  end

  def test_while_brokers_do_not_answer_the_last_reports_are_shown
    @cluster.reported = RecordedReports.new.tap do |reports|
      reports.state("web:7:a", {%w[shop orders] => [RecordedReports.row(:working, 0), RecordedReports.row(:backoff, 1)]}, ago: 130)
      reports.event("web:7:a", "started", "started", ago: 700)
    end
    silence
    ["/", "/groups", "/groups/shop", "/groups/shop/orders", "/groups/shop/orders/1", "/processes", "/processes/web:7:a", "/changes", "/pool", "/jobs"].each do |path|
      assert_includes get(path), "Brokers do not answer. What processes reported 2m10s ago is shown", path
    end
    ["/", "/groups", "/groups/shop"].each { |path| assert_includes get(path), "Kafka at nowhere does not answer", path }
    assert_equal [["orders/1"], ["shop"], ["web:7:a"], []],
      [data("/")["attention"].map { |one| one["place"] }, data("/")["groups"].map { |one| one["name"] }, data("/")["processes"].map { |one| one["name"] }, data("/groups")["unknown"]]
    refute_includes get("/groups/shop"), "The brokers do not know this group"
  end

  def test_without_reports_brokers_that_do_not_answer_leave_nothing_to_show
    silence
    ["/", "/groups", "/groups/shop", "/jobs"].each { |path| assert_equal 503, Rack::MockRequest.new(@web).get(path).status, path }
  end

  # Messages may quote payloads: who may see those is told them in the same sentence.
  def test_errors_on_the_overview
    @cluster.reported = RecordedReports.new.tap do |reports|
      reports.state("web:7:a", {%w[shop orders] => [RecordedReports.row(:working, 0)]})
      reports.error("web:7:a", "p1", RecordedReports::COUNTED, group: "shop", topic: "orders", count: 9, ago: 1)
    end
    why = ->(web) { JSON.parse(get("/?format=json", web:))["attention"].find { |one| one["label"] == "errors" }["why"] }
    assert_equal %(KeyError: key not found: "price" (app/consumers/orders_consumer.rb:12), raised by 9 attempts in the last hour), why.call(@web)
    assert_equal "KeyError (app/consumers/orders_consumer.rb:12), raised by 9 attempts in the last hour", why.call(web { |action, _| action == :read })
  end

  STILL = {"partition" => 3, **RecordedReports::ROW, "lag" => 550, "age" => 90.0, "assigned" => 200.0}.freeze

  def overview = data("/")["attention"].find { |item| item["partitions"] }

  # A report says for how long at the moment when it was made, however long ago that is.
  def test_since_when
    reports = @cluster.reported = RecordedReports.new
    reports.state("web:7:a", {%w[shop orders] => [STILL]}, ago: 9)
    found = [overview, data("/groups/shop/orders/3")["row"], data("/groups/shop/orders")["rows"].first, data("/processes/web:7:a")["attention"].first]
    found.each do |one|
      assert_in_delta reports.now - 99, one["began"], 0.01
      assert_in_delta 99, one["since"], 0.01
    end
    assert_includes get("/groups/shop/orders/3"), "for 1m39s, since #{Time.at(reports.now - 99).utc.strftime("%H:%M:%S")}"
  end

  def test_a_partitions_page_and_its_table_say_what_the_overview_says
    @cluster.reported = RecordedReports.new.tap { |reports| reports.state("web:7:a", {%w[shop orders] => [STILL, {**STILL, "partition" => 4, "age" => 91.0}]}) }
    one, other = data("/groups/shop/orders")["rows"].sort_by { |row| row["partition"] }
    assert_equal ["not moving", "no message of it is in memory or in work: none comes from the broker; the oldest message is 1m30s old"], one.values_at("word", "why")
    assert_includes overview["why"], other["why"]
    assert_equal [overview["help"]] * 3, [one["help"], other["help"], data("/groups/shop/orders/3")["row"]["help"]]
    ["/groups/shop/orders/3", "/groups/shop/orders"].each { |path| assert_match(/none comes from the broker.*What to do:/m, get(path)) }
  end

  def test_the_same_of_several_processes_within_a_few_seconds_is_one
    reports = @cluster.reported = RecordedReports.calm
    [["web:1:a", 90], ["web:2:a", 88], ["web:3:a", 20], ["web:3:a", 19], ["web:1:a", 21]].each { |process, ago| reports.event(process, "rebalanced", "assigned orders/0", ago:) }
    rows = data("/changes")["rows"].select { |row| row["text"] == "assigned orders/0" }
    assert_equal [["web:3:a", 1, 19], ["web:3:a", 2, 20], ["web:2:a", 2, 88]], rows.map { |row| [row["process"], row["times"], (reports.now - row["at"]).round] }
  end

  def test_the_next_message_of_a_group
    fate = lambda do |offset, done|
      page = Guildhall::Web::Pages::Message.allocate
      row = Guildhall::Kafka::Broker::GroupOffsets::Row.new(group: "shop", topic: "orders", partition: 0, committed: 205, begin_offset: 0, end_offset: 300, messages: 95, metadata: nil, done:)
      page.define_singleton_method(:cluster) { Struct.new(:row) { def offsets(*) = [row] }.new(row) }
      page.define_singleton_method(:partition) { 0 }
      page.define_singleton_method(:offset) { offset }
      page.send(:fate, "shop", "orders")[:why]
    end
    assert_equal ["it is the next one", "3 messages before it are not done, either"], [fate.call(205, []), fate.call(210, [207..208])]
  end

  def test_done_messages_that_the_report_does_not_list
    row = {**RecordedReports.row(:keys, 0), "ranges" => [[3, 52], [54, 54]], "done_behind" => 798}
    @cluster.reported = RecordedReports.new.tap { |reports| reports.state("web:7:a", {%w[shop orders] => [row]}) }
    assert_includes get("/groups/shop/orders/0"), "798 messages: 3–52, 54, and 747 more"
  end

  # What is committed every few seconds is not behind: by rates that are nearly the same it would never be caught up.
  def test_when_a_group_will_have_caught_up
    @cluster.reported = RecordedReports.calm
    rows = [59.0, 61.0].each_with_index.map do |seconds, partition|
      Guildhall::Kafka::Broker::LagWatch::Row.new(group: "shop", topic: "orders", partition:, committed: 89, end_offset: 100, messages: 11, seconds:, rate_in: 2.0, rate_out: 3.0)
    end
    @cluster.define_singleton_method(:lag) { |_ = nil| Guildhall::Kafka::Broker::Answer.new(rows, []) }
    assert_equal [nil, 11.0], data("/groups/shop")["partitions"].map { |row| row["caught_up_in"] }
  end

  def test_messages_of_a_cause_are_a_sample
    @cluster.reported = RecordedReports.shop
    refute_includes get("/errors"), "counted"
    assert_includes get("/errors/bb22"), "a sample: each process reports one in ten seconds, the last ten are kept"
  end

  # Attempts of an outage do not count against the retries, nor those of a parked key against those of the partition.
  def test_failed_attempts_are_those_that_the_reason_counts
    rows = %i[backoff keys working].each_with_index.map { |name, index| RecordedReports.row(name, index) }
    @cluster.reported = RecordedReports.new.tap { |reports| reports.state("web:7:a", {%w[shop orders] => [*rows]}) }
    assert_equal [7, 2, 0], data("/groups/shop/orders?sort=number")["rows"].map { |row| row["failed_attempts"] }
  end

  def test_a_longer_chart
    @cluster.reported = RecordedReports.new.tap do |reports|
      reports.state("web:7:a", {%w[shop orders] => [RecordedReports.row(:working, 0)]})
      [1_300, 700, 300, 100, 2].each { |minutes| reports.minute("web:7:a", {%w[shop orders] => {"age" => minutes.to_f}}, ago: (minutes * 60) + 1) }
    end
    charts = [1, 6, 24].to_h { |hours| [hours, data("/groups/shop/orders?hours=#{hours}")["chart"]] }
    assert_equal({1 => [10, [2.0, 1.9]], 6 => [151, [300.0, 100.0, 2.0, 1.9]], 24 => [217, [1_300.0, 700.0, 300.0, 100.0, 2.0]]},
      charts.transform_values { |chart| [chart["at"].size, chart["lines"].first&.fetch("values")&.compact] })
    assert_includes get("/groups/shop/orders?hours=6"), %(href="/groups/shop/orders?hours=24&amp;sort=trouble")
  end

  # As the other links of the page do.
  def test_links_of_a_chart_keep_what_narrows_the_table
    @cluster.reported = RecordedReports.shop
    body = get("/groups/shop/payments?q=pay&sort=lag")
    ["hours=6", "hours=1&amp;numbers=1"].each { |link| assert_includes body, %(href="/groups/shop/payments?#{link}&amp;sort=lag&amp;q=pay") }
    assert_includes get("/groups/shop/payments?q=pay&sort=lag&numbers=1"), %(href="/groups/shop/payments?hours=1&amp;sort=lag&amp;q=pay">without numbers)
  end

  def test_before_the_first_minute_there_is_no_chart_and_a_page_says_so
    reports = @cluster.reported = RecordedReports.new
    reports.state("web:7:a", {%w[shop orders] => [RecordedReports.row(:working, 0)]})
    pages = ["/groups/shop/orders", "/groups/shop/orders/0", "/processes/web%3A7%3Aa"]
    pages.each { |path| assert_match(/No curves? yet: processes report a number for each minute/, get(path), path) }
    ["/groups/shop/else", "/groups/shop/orders/1", "/processes/none"].each { |path| refute_match(/No curves? yet/, get(path), path) }
    reports.minute("web:7:a", {%w[shop orders] => {"age" => 1.0}}, ago: 61)
    pages.each { |path| refute_match(/No curves? yet/, get(path), path) }
  end

  def test_a_topic_of_a_group_that_brokers_know_only
    @cluster.reported = RecordedReports.calm
    assert_includes get("/groups/shop/else"), "No process that reports has a partition of it"
    assert_equal 400, Rack::MockRequest.new(@web).get("/groups/shop/orders/x").status
  end

  def test_the_last_start_of_a_group_is_that_of_its_newest_process_that_runs
    reports = RecordedReports.new
    rows = [RecordedReports.row(:working, 0)]
    reports.state("old:1:a", {%w[shop orders] => rows}, started: reports.now - 900)
    reports.state("new:2:b", {%w[shop orders] => rows}, started: reports.now - 60)
    reports.state("gone:3:c", {%w[shop orders] => rows}, started: reports.now - 5, state: "stopped")
    reports.state("other:4:d", {%w[mails mails] => rows}, started: reports.now - 1)
    assert_equal [Time.at(reports.now - 60), Time.at(reports.now - 1), nil], [%w[shop], %w[shop mails], %w[none]].map { |groups| reports.view.last_start(groups) }
  end
end
