# frozen_string_literal: true

require "test_helper"
require "support/recorded_cluster"
require "support/recorded_reports"
require "guildhall/json"
require "ferrum"
require "puma"
require "puma/server"

# A replay that is in progress.
module LetterJobExample
  def self.running
    Guildhall::Web::LetterJob.new(id: "1", action: "replay", by: "ada@shop.example", why: "the price is there again", filter: Guildhall::Web::LetterFilter.new,
      upto: {0 => 2}, at: 1_700_000_000.0, total: 209, done: 100, beat: Time.now.to_f + 3_600).dump
  end
end

# The dashboard in a browser, on answers of brokers as they are recorded.
class WebBrowserTest < GuildhallTest
  NAMES = %w[chromium chromium-browser google-chrome google-chrome-stable].freeze
  PATH = [ENV.fetch("BROWSER_PATH", nil), *ENV.fetch("PATH").split(File::PATH_SEPARATOR).flat_map { |folder| NAMES.map { |name| File.join(folder, name) } }]
    .find { |path| path && File.executable?(path) }
  PAGES = ["/", "/groups", "/groups/shop", "/topics", "/topics/orders", "/topics/orders/messages", "/topics/orders/0/0", "/dead-letters", "/dead-letters/dead",
           "/schedule", "/status", "/commands", "/processes?q=6f9d&app=shop", "/groups/shop/payments?q=nothing", "/?numbers=1", "/groups/shop/payments", "/groups/shop/payments/1", "/groups/shop-orders/orders/0?numbers=1", "/processes",
           "/processes/shop-consumer-6f9d-d7m1%3A17%3Aa", "/changes", "/pool", "/errors", "/errors/bb22", "/jobs", "/jobs/default",
           "/schedule/daily%20report/disable", "/schedule/daily%20report/run", "/dead-letters/dead/replay",
           "/dead-letters/dead/discard", "/dead-letters/dead/delete?letter[]=0@1", "/dead-letters/dead/stop"].freeze
  THEMES = %w[light dark].freeze

  # Before the page's scripts: what is to be done every few seconds is done by the test, and what the browser refuses is kept.
  PREPARED = <<~JS
    window.looks = []; window.setInterval = (look) => looks.push(look);
    window.refused = []; document.addEventListener("securitypolicyviolation", (event) => refused.push(event.violatedDirective + " " + event.blockedURI));
  JS

  # Texts with too little contrast, as "3.2 text".
  FAINT = <<~JS
    (() => {
      const parse = (color) => { const [r, g, b, a = 1] = color.match(/[\\d.]+/g).map(Number); return [r, g, b, a]; };
      const over = ([r, g, b, a], under) => [r, g, b].map((value, i) => value * a + under[i] * (1 - a)).concat(1);
      const ground = (element) => {
        if (!element) return [255, 255, 255, 1];
        const color = parse(getComputedStyle(element).backgroundColor);
        return color[3] === 1 ? color : over(color, ground(element.parentElement));
      };
      const light = (color) => {
        const [r, g, b] = color.map((value) => { const c = value / 255; return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; });
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
      };
      const contrast = (element, pseudo) => {
        const under = ground(element);
        const [one, other] = [light(over(parse(getComputedStyle(element, pseudo).color), under)), light(under)].sort((a, b) => b - a);
        return (one + 0.05) / (other + 0.05);
      };
      const found = [];
      const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
      while (walker.nextNode()) if (walker.currentNode.data.trim()) found.push([contrast(walker.currentNode.parentElement), walker.currentNode.data.trim()]);
      document.querySelectorAll("[placeholder]").forEach((input) => found.push([contrast(input, "::placeholder"), input.placeholder]));
      return found.filter(([value]) => value < 4.5).map(([value, text]) => value.toFixed(1) + " " + text);
    })()
  JS

  # What somebody who does not see the page would miss.
  UNNAMED = <<~JS
    (() => {
      const found = [];
      const h1 = document.querySelectorAll("h1").length;
      if (h1 !== 1) found.push(h1 + " h1");
      const skip = document.querySelector("body > a");
      if (!document.querySelector(skip.getAttribute("href"))) found.push("no skip link");
      document.querySelectorAll("input:not([type=hidden]), select, textarea").forEach((one) => {
        if (![...one.labels].some((label) => label.innerText.trim())) found.push("no label: " + one.name);
      });
      document.querySelectorAll("table").forEach((table) => {
        const headers = [...table.querySelectorAll("thead th")];
        if (!headers.length || headers.some((header) => !header.textContent.trim())) found.push("a table without headers");
      });
      document.querySelectorAll("a, button").forEach((one) => { if (!one.textContent.trim()) found.push("a link without text: " + one.outerHTML); });
      return found;
    })()
  JS

  # A thread that all browsers of Ferrum share is there before threads are counted.
  def before_setup
    Concurrent::ScheduledTask.execute(0.05) { nil }.wait
    super
  end

  def setup
    skip "no chromium is installed, nor named by BROWSER_PATH: the dashboard is not looked at in a browser" unless PATH
    application = Guildhall::Kafka::Application.new
    application.config.kafka = {"bootstrap.servers": "127.0.0.1:1"}
    application.config.group_id = "shop"
    application.routes.draw do
      topic "orders" do
        consumer Class.new(Guildhall::Kafka::Consumer) { def consume = nil }
        deserializer Guildhall::JSON.lazy
        dead_letter_queue topic: "dead", max_retries: 0
      end
      schedule do
        task("daily report", "0 3 * * * Europe/Berlin") { |due| due }
        task("expire carts", "every 10 minutes") { |due| due }
      end
    end
    recorded = @recorded = RecordedCluster.new(application.validate!)
    recorded.reported = RecordedReports.shop
    @switched = switched = Thread::Queue.new
    application.define_singleton_method(:switch_task) { |*task| switched << task }
    application.config.logger = nil
    web = Guildhall::Web.new(application:, authorize: ->(*) { "ada" })
    @started = started = Thread::Queue.new
    web.letter_jobs.define_singleton_method(:start) { |_topic, job| job.with(state: "done", done: job.total).tap { |done| started << done } }
    web.define_singleton_method(:cluster) { recorded }
    @server = Puma::Server.new(web, nil, min_threads: 1, max_threads: 2, log_writer: Puma::LogWriter.null)
    port = @server.add_tcp_listener("127.0.0.1", 0).addr[1]
    @served = @server.run
    @browser = Ferrum::Browser.new(browser_path: PATH, base_url: "http://127.0.0.1:#{port}", timeout: 60, process_timeout: 60,
      browser_options: {"no-sandbox" => nil, "disable-gpu" => nil})
    @browser.evaluate_on_new_document(PREPARED)
  end

  def teardown
    @browser&.quit
    @server&.stop
    @served&.join
  end

  def go(path)
    @browser.go_to(path)
    assert_equal 200, @browser.network.status, "#{path}: #{@browser.body}"
  end

  # Without this process's memory, how long a search has taken, and the ten minutes that a search begins with, which change.
  def content = js('document.querySelector("[data-content]").innerText').gsub(/\d+ MiB for this|searched in [\d.]+ s|\b\d\d:\d0\b/, "")

  def js(code) = @browser.evaluate(code)

  # As the page does it every few seconds.
  def look = js("await looks[0]()")

  def each_page
    PAGES.product(THEMES).each do |path, theme|
      go("#{path}#{path.include?("?") ? "&" : "?"}theme=#{theme}")
      yield "#{path} in #{theme}"
    end
  end

  def test_every_page_can_be_seen_and_read_aloud
    errors = []
    @browser.page.command("Log.enable")
    @browser.on("Log.entryAdded") { |params| errors << params["entry"]["text"] }
    @browser.on("Runtime.exceptionThrown") { |params| errors << params["exceptionDetails"]["text"] }
    @recorded.note = LetterJobExample.running
    each_page do |page|
      assert_equal [], js(FAINT), page
      assert_equal [], js(UNNAMED), page
      assert_equal [], js("refused"), page
      assert_equal 0, js('[...document.querySelectorAll("svg.bar")].filter((bar) => getComputedStyle(bar).padding !== "0px").length'), "#{page}: bars without room"
      assert_equal 1, js('[...document.querySelectorAll(".to-light, .to-dark")].filter((link) => link.offsetWidth).length'), "#{page}: links to the other theme"
    end
    assert_equal [], errors
  end

  def test_no_page_is_wider_than_a_telephone
    @browser.page.set_viewport(width: 390, height: 800)
    PAGES.each do |path|
      go(path)
      assert_operator js("document.documentElement.scrollWidth"), :<=, 390, path
      wide = js('[...document.querySelectorAll("main *")].filter((one) => one.getBoundingClientRect().right > 390 && !one.closest("pre")).map((one) => one.outerHTML)')
      assert_equal [], wide, path
    end
  end

  def test_without_scripts_everything_can_be_read
    texts = PAGES.to_h do |path|
      go(path)
      [path, content]
    end
    @browser.page.disable_javascript
    texts.each do |path, text|
      go(path)
      refute_empty text
      assert_equal text, content, path
      assert_nil js('document.querySelector(".fresh button")'), path
    end
  end

  def test_what_changes_is_merged_into_the_page
    go("/groups/shop")
    js(<<~JS)
      (() => {
        window.cell = document.querySelector('td[data-l="Not committed"]');
        window.link = document.querySelector("tbody a");
        link.focus();
        getSelection().selectAllChildren(document.querySelector("#members"));
      })()
    JS
    @recorded.waiting = 1_234
    look
    assert_equal ["1,234", true, true, "Members", "live"],
      js('[cell.innerText, cell.isConnected, document.activeElement === link, getSelection().toString().trim(), document.querySelector("[data-live]").innerText.trim()]')

    @browser.at_css(".fresh button").click
    @recorded.waiting = 5
    look
    assert_equal %w[1,234 resume], js('[cell.innerText, document.querySelector(".fresh button").innerText]')
    @browser.at_css(".fresh button").click
    look
    assert_equal %w[5 pause], js('[cell.innerText, document.querySelector(".fresh button").innerText]')
  end

  def test_what_is_reported_is_merged_into_the_page
    go("/groups/shop/payments")
    js('document.getElementById("at:shop/payments/3").focus()')
    reports = @recorded.reported
    name = "shop-consumer-6f9d-4zqp:17:a"
    reports.write({**reports.view.process(name).report, "v" => 1, "topics" => [RecordedReports.topic("shop", "payments", [RecordedReports.row(:working, 3)])]}, ago: 0)
    look
    assert_equal ["at:shop/payments/3", "live"], js('[document.activeElement.id, document.querySelector("[data-live]").innerText.trim()]')
    assert_match(/Working/, js('document.activeElement.closest("tr").innerText'))
    refute_match(/stalled/i, js("document.querySelector('tbody').innerText"))
  end

  def test_a_task_is_disabled_by_clicks_or_keys_with_and_without_scripts
    {scripts: :click, none: :click, keys: :press}.each do |scripts, how|
      @browser.page.disable_javascript if scripts == :none
      go("/schedule?theme=dark")
      press(how, "a.btn[href*=disable]")
      arrive("input[name=why]")
      assert_equal ["Disable daily report", "dark"], js('[document.querySelector("h1").innerText, document.documentElement.dataset.theme]')
      why = @browser.at_css("input[name=why]").focus.type("mails twice")
      how == :press ? why.type(:Enter) : @browser.at_css("form[method=post] button").click
      arrive("[role=status]")
      assert_equal ["daily report is disabled.", "dark"], js('[document.querySelector("[role=status]").innerText, document.documentElement.dataset.theme]')
      assert_equal ["daily report", false], @switched.pop(timeout: 60)
      @browser.page.command("Emulation.setScriptExecutionDisabled", value: false)
    end
    assert_empty @switched
  end

  def press(how, css)
    link = @browser.at_css(css)
    how == :press ? link.focus.type(:Enter) : link.click
  end

  # Clicks what leads to another page, and waits for that page as a whole.
  def follow(css)
    js("window.before = true")
    @browser.at_css(css).click
    eventually do
      js("!window.before && document.readyState === 'complete'")
    rescue Ferrum::Error
      nil # between two pages
    end
  end

  # @return [Ferrum::Node] of the page that comes
  def arrive(css)
    eventually do
      @browser.at_css(css)
    rescue Ferrum::Error
      nil # between two pages
    end
  end

  def test_selected_letters_are_replayed
    @browser.page.set_viewport(width: 390, height: 800)
    @browser.page.disable_javascript
    go("/dead-letters/dead")
    @browser.css("input[type=checkbox]").last.focus.type(:Space)
    @browser.css("form button").find { |button| button.text == "Replay selected …" }.click
    button = arrive("form[method=post] button")
    assert_equal "Replay 1 dead letter", button.text
    button.click
    assert_equal "Replay of 1 dead letter: done, 1 replayed", arrive("[role=status]").text
    assert_equal [["ada", "replay", ["0@0"]]], [@started.pop(timeout: 60)].map { |job| [job.by, job.action, job.filter.letters] }
  end

  def test_a_table_is_narrowed_and_an_application_chosen_without_scripts
    @recorded.reported.state("mail-1:5:a", {%w[mails mails] => [RecordedReports.row(:working, 0)]}, app: "mail")
    @browser.page.disable_javascript
    go("/processes?theme=dark&sort=name")
    @browser.at_css("input[name=q]").focus.type("t5ra", :Enter)
    arrive("form.narrow a")
    assert_equal ["dark", %w[shop-consumer-6f9d-t5ra], "t5ra", "name"],
      js('[document.documentElement.dataset.theme, [...document.querySelectorAll("tbody .lead")].map((one) => one.innerText), document.querySelector("[name=q]").value, document.querySelector(".more b").innerText]')
    @browser.at_css("select[name=app]").select("mail")
    follow("form.apps button")
    assert_includes @browser.current_url, "app=mail"
    assert_equal ["dark", %w[mail-1], "mail"], js('[document.documentElement.dataset.theme, [...document.querySelectorAll("tbody .lead")].map((one) => one.innerText), document.querySelector("[name=app]").value]')
  end

  def test_the_theme_is_kept_from_page_to_page
    go("/topics/orders/messages?theme=dark")
    follow("form button")
    follow("tbody a")
    assert_equal ["dark", "orders/0@2"], js('[document.documentElement.dataset.theme, document.querySelector("h1").innerText]')
    follow("a.to-light")
    assert_equal ["light", "orders/0@2"], js('[document.documentElement.dataset.theme, document.querySelector("h1").innerText]')
  end
end
