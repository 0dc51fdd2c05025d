# frozen_string_literal: true

require "test_helper"
require "guildhall/web"
require "rack/lint"
require "rack/mock_request"
require "support/recorded_cluster"

# The dashboard as Rack sees it, on answers of brokers as they are recorded here; test/integration/scenarios/web.rb asks real ones.
class WebTest < GuildhallTest
  NAME = RecordedCluster::STRANGE

  def setup
    @asked = asked = []
    application = Guildhall::Kafka::Application.new
    application.config.kafka = {"bootstrap.servers": "127.0.0.1:1"}
    @web = Guildhall::Web.new(application:, authorize: ->(_request, action, target) { asked << [action, target] })
    recorded = RecordedCluster.new
    @web.define_singleton_method(:cluster) { recorded }
  end

  def get(path, web: @web, **options) = Rack::MockRequest.new(web).get(path, options)

  def test_without_authorize_nobody_sees_anything
    %w[/ /groups /topics/orders/messages /nothing].each do |path|
      response = get(path, web: Guildhall::Web.new(application: Guildhall::Kafka::Application.new))
      assert_equal 403, response.status
      assert_includes response.body, "Guildhall::Web.new(authorize: "
    end
  end

  def test_who_is_refused_sees_nothing
    web = Guildhall::Web.new(application: Guildhall::Kafka::Application.new, authorize: ->(*) {})
    response = get("/topics", web:)
    assert_equal 403, response.status
    refute_includes response.body, "orders"
  end

  def test_what_needs_attention_comes_first_the_worst_on_top
    data = JSON.parse(get("/?format=json").body)
    assert_equal(["has partitions without a leader", "has no members", "is behind", "has committed beyond the end"].sort,
      data["attention"].map { |one| one["what"] }.sort)
    assert_equal(["bad"], data["attention"].map { |one| one["kind"] }.uniq)
    assert_equal [400.0, 20], data.values_at("oldest", "messages")
    assert_equal ["group shop, secret: TOPIC_AUTHORIZATION_FAILED: grant DESCRIBE on topic <b>"], data["problems"]
    page = get("/").body
    assert_includes page, "4 things need attention"
    assert_includes page, "grant DESCRIBE on topic &lt;b&gt;"
  end

  def test_a_group_that_the_brokers_do_not_know_while_messages_of_its_topics_wait
    answer = Guildhall::Kafka::Broker::Answer
    @web.cluster.define_singleton_method(:groups) { answer.new([], []) }
    about_groups = -> { JSON.parse(get("/?format=json").body)["attention"].filter_map { |one| one["group"] && one.values_at("kind", "what", "why") } }
    assert_empty about_groups.call # it has committed: only the list lacks it
    @web.cluster.define_singleton_method(:lag) { |_ = nil| answer.new(super(nil).map { |row| row.with(committed: nil) }, []) }
    assert_equal [["bad", "has consumed nothing yet",
                   "20 messages are not committed, and nobody consumes; the brokers do not know this group: it is new, or was deleted"]], about_groups.call
    @web.cluster.waiting = 0
    assert_empty about_groups.call
  end

  def test_names_are_escaped_wherever_they_stand
    body = get("/groups").body
    refute_includes body, "<script>alert"
    assert_includes body, "/groups/%3Cscript%3Ealert%281%29%3C%2Fscript%3E%E2%80%AE"
    path = Rack::Utils.escape_path(NAME)
    assert_equal 200, get("/groups/#{path.gsub("/", "%2F")}").status
  end

  def test_what_is_not_there
    assert_equal [404, 404, 404, 400], ["/nope", "/topics/nope", "/topics/orders/x", "/topics/orders/x/y"].map { |path| get(path).status }
    assert_includes get("/topics/nope").body, "there is no topic nope"
    assert_equal 404, get("/groups/%ff").status
    assert_equal 405, Rack::MockRequest.new(@web).post("/").status
  end

  def test_a_question_that_nobody_answers_is_told_by_the_check_that_asks_it
    checks = JSON.parse(get("/status?format=json").body)["checks"]
    assert_equal [[false, "Kafka at nowhere does not answer"]], checks.first(1).map { |check| check.values_at("ok", "found") }
  end

  def test_brokers_that_do_not_answer
    @web.cluster.define_singleton_method(:topics) { raise Guildhall::Kafka::UnreachableError.new(-195, "_TRANSPORT", "no answer") }
    response = get("/topics")
    assert_equal 503, response.status
    assert_includes response.body, "no answer"
  end

  def test_an_unchanged_page_is_not_sent_again
    tag = get("/topics?format=json")["etag"]
    response = get("/topics?format=json", "HTTP_IF_NONE_MATCH" => tag)
    assert_equal [304, ""], [response.status, response.body]
    assert_equal 200, get("/groups?format=json", "HTTP_IF_NONE_MATCH" => tag).status
  end

  def test_the_time_of_day_does_not_make_another_page
    first = later = get("/topics")
    eventually { (later = get("/topics")).body[/\d\d:\d\d:\d\d/] != first.body[/\d\d:\d\d:\d\d/] }
    assert_equal first["etag"], later["etag"]
  end

  def test_links_keep_the_theme
    %w[/ /groups /groups/shop /topics /topics/orders /status /nope].each do |path|
      body = get("#{path}?theme=dark").body
      assert_includes body, '<html lang="en" data-theme="dark">'
      links = body.scan(/ href="([^"]+)"/).flatten.grep_v(/assets|^#/)
      assert_equal ["#{path}?theme=light"], links.grep_v(/theme=dark/)
    end
    refute_includes get("/?theme=%22x").body, "data-theme"
  end

  def test_a_query_that_is_none
    assert_equal [400, 200, 200], %w[a=1&a[b]=2 theme=%ff a[]=1].map { |query| get("/?#{query}").status }
  end

  def test_nothing_comes_from_elsewhere_or_from_the_page_itself
    response = get("/")
    policy = response["content-security-policy"]
    assert_includes policy, "default-src 'none'"
    refute_includes policy, "unsafe"
    refute_match(/ style=| on\w+=|<script>|<style/, response.body)
    addresses = response.body.scan(/(?:src|href)="([^"]+)"/).flatten
    assert(addresses.all? { |address| address.start_with?("/", "#") }, addresses.inspect)
  end

  def test_its_files_are_kept_and_compressed
    paths = get("/").body.scan(%r{"(/assets/[^"]+)"}).flatten
    assert_equal 4, paths.size
    sizes = paths.map do |path|
      response = get(path, "HTTP_ACCEPT_ENCODING" => "gzip")
      assert_equal [200, "gzip"], [response.status, response["content-encoding"]]
      assert_includes response["cache-control"], "immutable"
      response.body.bytesize
    end
    assert_operator sizes.sum, :<, 20_000
    assert_equal 404, get("/assets/../web.rb").status
  end

  def test_an_address_that_cannot_be_read
    ["/topics?a=1&a[b]=2", "/topics?a=%", "/topics?#{"a&" * 5_000}"].each { |path| assert_equal 400, get(path).status, path[0, 20] }
    assert_equal 404, get("/topics/%00").status
  end

  def test_a_path_of_two_slashes_leads_to_no_other_host
    ["//topics", "//evil.example/x"].each { |path| refute_match(%r{href="//}, get("/", "PATH_INFO" => path).body) }
    assert_includes get("/", "PATH_INFO" => "//topics", "QUERY_STRING" => "").body, %(href="/topics?format=json")
  end

  GZIP = {"HTTP_ACCEPT_ENCODING" => "gzip, br"}.freeze

  def test_pages_are_compressed_once_and_only_for_who_takes_it
    plain = get("/groups/shop?theme=dark").body.gsub(/\d\d:\d\d:\d\d/, "")
    [@web, Rack::Deflater.new(@web)].each do |web|
      response = get("/groups/shop?theme=dark", web: Rack::Lint.new(web), **GZIP)
      assert_equal ["gzip", nil], [response["content-encoding"], response["content-length"]]
      assert_includes response["vary"], "accept-encoding"
      assert_equal plain, Zlib.gunzip(response.body).force_encoding("UTF-8").gsub(/\d\d:\d\d:\d\d/, "")
      assert_operator response.body.bytesize * 2, :<, plain.bytesize
    end
    assert_nil get("/", "HTTP_ACCEPT_ENCODING" => "gzip;q=0, identity")["content-encoding"]
    assert_nil get("/nope?format=json", **GZIP)["content-encoding"], "what is small"
    head = Rack::MockRequest.new(Rack::Lint.new(@web)).head("/", GZIP)
    assert_equal [200, ""], [head.status, head.body]
  end

  # Whose length would tell it what is in the page.
  def test_what_another_site_asks_for_is_not_compressed
    answers = [nil, "none", "same-origin", "same-site", "cross-site"].map do |site|
      get("/", **GZIP, "HTTP_SEC_FETCH_SITE" => site)["content-encoding"]
    end
    assert_equal ["gzip", "gzip", "gzip", nil, nil], answers
  end

  def test_a_compressed_page_that_has_not_changed_is_not_sent_again
    tag = get("/topics", **GZIP)["etag"]
    assert_operator tag, :start_with?, "W/" # so that a proxy that compresses need not change it
    assert_equal 304, get("/topics", **GZIP, "HTTP_IF_NONE_MATCH" => tag).status
  end

  def test_an_empty_name_is_nobodys
    ["", nil, false].each do |name|
      assert_equal 403, get("/", web: Guildhall::Web.new(application: @web.application, authorize: ->(*) { name })).status, name.inspect
    end
  end

  def test_a_group_of_the_routes_that_the_brokers_do_not_know
    @web.cluster.define_singleton_method(:group) { |name, *| raise Guildhall::Kafka::UnknownGroupError, name }
    @web.cluster.define_singleton_method(:groups) { Guildhall::Kafka::Broker::Answer.new([], []) }
    assert_includes get("/groups").body, %(href="/groups/shop")
    response = get("/groups/shop")
    assert_equal 200, response.status
    assert_includes response.body, "The brokers do not know this group: it has no members and has committed nothing"
    assert_equal 404, get("/groups/else").status
  end

  def test_head_has_no_body
    ["/", get("/").body[%r{"(/assets/[^"]+)"}, 1]].each do |path|
      response = Rack::MockRequest.new(Rack::Lint.new(@web)).head(path)
      assert_equal [200, ""], [response.status, response.body]
    end
  end

  def test_who_is_refused_does_not_learn_of_the_brokers
    web = Guildhall::Web.new(application: @web.application, authorize: ->(*) {})
    refute_includes get("/topics", web:).body, "127.0.0.1:1"
    assert_includes get("/topics").body, "127.0.0.1:1"
  end

  def test_keys_of_dead_letters_are_hidden_as_those_of_messages
    web = Guildhall::Web.new(application: @web.application, authorize: ->(*) { true }, hide: ["key"])
    recorded = @web.cluster
    web.define_singleton_method(:cluster) { recorded }
    ["/dead-letters/dead", "/topics/orders/messages"].each do |path|
      assert_includes get(path).body, "k" * 70, path
      refute_includes get(path, web:).body, "k" * 70, path
    end
  end

  def test_mounted_below_a_path
    body = get("/groups", "SCRIPT_NAME" => "/guildhall").body
    addresses = body.scan(/(?:src|href)="([^"]+)"/).flatten - ["#main"]
    assert(addresses.all? { |address| address.start_with?("/guildhall/") }, addresses.inspect)
  end
end
