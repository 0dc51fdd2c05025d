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
    assert_includes page, "Needs attention"
    assert_includes page, "grant DESCRIBE on topic &lt;b&gt;"
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

  def test_mounted_below_a_path
    body = get("/groups", "SCRIPT_NAME" => "/guildhall").body
    addresses = body.scan(/(?:src|href)="([^"]+)"/).flatten - ["#main"]
    assert(addresses.all? { |address| address.start_with?("/guildhall/") }, addresses.inspect)
  end
end
