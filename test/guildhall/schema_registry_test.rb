# frozen_string_literal: true

require "test_helper"
require "support/registry_server"
require "guildhall/avro"
require "guildhall/schema"

class SchemaRegistryTest < GuildhallTest
  Registry = Guildhall::SchemaRegistry

  def setup
    @server = RegistryServer.new
    @server.add(1, '"string"')
  end

  def teardown
    @server.close
  end

  def test_fetches_once
    registry = Registry.new(@server.url)
    2.times { assert_equal([1, "AVRO", '"string"'], registry.schema(1).then { [it.id, it.type, it.schema] }) }
    assert_equal ["GET /schemas/ids/1"], @server.requests
  end

  def test_what_is_fetched_is_known_in_every_ractor
    registry = Registry.new(@server.url)
    registry.schema(1)
    assert_equal '"string"', ractor_value(Ractor.new(registry) { |shared| shared.cached(1).schema })
    assert_nil registry.cached(2)
  end

  def test_remembers_what_is_unknown_for_a_while
    registry = Registry.new(@server.url, unknown_after: 0, unknown_for: 0.2)
    2.times { assert_nil registry.schema(9) }
    assert_equal [1, true], [@server.requests.size, registry.unknown?(9)]
    @server.add(9, '"int"')
    eventually { registry.schema(9) }
    assert_equal [2, false], [@server.requests.size, registry.unknown?(9)]
  end

  def test_asks_again_for_what_may_just_have_been_registered
    registry = Registry.new(@server.url, unknown_after: 60)
    2.times { assert_nil registry.schema(9) }
    assert_equal [1, false, true], [@server.requests.size, registry.unknown?(9), registry.missing?(9)]
    @server.add(9, '"int"')
    eventually { registry.schema(9) }
    assert_equal [2, false, false], [@server.requests.size, registry.unknown?(9), registry.missing?(9)]
  end

  # Only the registry's own error code says that there is no such schema.
  def test_a_404_of_somebody_else_says_nothing_about_a_schema
    ["<html>", {message: "no route"}, {error_code: 404, message: "HTTP 404 Not Found"}, [], "null"].each do |body|
      @server["/schemas/ids/9"] = [404, body]
      registry = Registry.new(@server.url, retries: 0)
      error = assert_raises(Registry::Error, body.inspect) { registry.schema(9) }
      assert_equal [404, true, false], [error.status, error.outage?, registry.missing?(9)]
      assert_match(/check the URL, with its path, and context:/, error.message)
    end
    [40_401, 40_403, 40_405].each do |code|
      @server["/schemas/ids/9"] = [404, {error_code: code, message: "none"}]
      assert_nil Registry.new(@server.url).schema(9)
    end
  end

  def test_what_is_an_outage_and_what_was_refused
    {400 => nil, 401 => 40_101, 403 => 40_301, 405 => nil, 407 => nil, 408 => 40_801, 410 => nil, 425 => nil, 429 => 42_901, 500 => 50_001, 503 => nil}.each do |status, error_code|
      @server["/schemas/ids/9"] = [status, {error_code:, message: "no"}.compact]
      error = assert_raises(Registry::Error) { Registry.new(@server.url, retries: 0).schema(9) }
      assert_equal [status, true], [error.status, error.outage?]
      assert_match(/answers .* with #{status} no/, error.message)
    end
    refused = [[409, 409], [409, 40_901], [422, 42_201], [422, 422]]
    refused.each do |status, error_code|
      @server["/subjects/a/versions"] = [status, {error_code:, message: "will not do"}]
      error = assert_raises(Registry::RefusedError) { Registry.new(@server.url).register("a", '"int"') }
      assert_equal [status, error_code, false], [error.status, error.code, error.outage?]
      assert_match(/refuses .* will not do/, error.message)
    end
    assert_equal refused.size, @server.requests.count { |line| line.start_with?("POST") }, "what was refused is not tried again"
  end

  def test_an_incompatible_schema_is_no_outage
    message = "Schema being registered is incompatible with an earlier schema for subject \"a\""
    @server["/subjects/a/versions"] = [409, {error_code: 409, message:}]
    registry = Registry.new(@server.url)
    assert_match(/409 #{message}/, assert_raises(Registry::RefusedError) { registry.register("a", '"int"') }.message)
    assert_nil registry.outage
  end

  def test_advice_about_credentials
    @server["/schemas/ids/9"] = [401, {message: "who are you"}]
    assert_match(/401 who are you; no credentials are sent: check user: and password:, or token:\z/, refusal)
    assert_match(/401 who are you; check user: and password:, or token:\z/, refusal(token: "t"))
    @server["/schemas/ids/9"] = [403, "<html>"]
    assert_match(/403 X; these credentials may not read it: grant/, refusal)
  end

  def test_a_token_that_cannot_be_had_is_an_outage
    error = assert_raises(Registry::Error) { Registry.new(@server.url, token: NoToken, retries: 0).schema(1) }
    assert_equal [true, KeyError], [error.outage?, error.cause.class]
    assert_match(/token: raised KeyError/, error.message)
    Registry.new(@server.url, token: "t0ken\n").schema(1)
    assert_equal ["Bearer t0ken"], @server.headers.map { |headers| headers["authorization"] }
  end

  def test_a_token_of_two_lines_is_an_outage
    error = assert_raises(Registry::Error) { Registry.new(@server.url, token: TwoLines, retries: 0).schema(1) }
    assert_match(/token: is not one line/, error.message)
    refute_includes error.message, "s3cret"
  end

  module TwoLines
    def self.call = "s3cret\nb: c"
  end

  module NoToken
    def self.call = raise(KeyError, "no SSO")
  end

  def test_tries_again_when_the_server_fails
    answers = [*["503 X\r\nContent-Length: 0\r\n"] * 2, "200 X\r\n"]
    @server["/schemas/ids/3"] = lambda do |socket|
      socket.write("HTTP/1.1 #{answers.shift}Connection: close\r\n\r\n#{JSON.generate({schema: '"int"'}) if answers.empty?}")
    end
    assert_equal '"int"', Registry.new(@server.url, retries: 2).schema(3).schema
    assert_equal 3, @server.requests.size
  end

  def test_gives_up_after_its_attempts
    @server["/schemas/ids/3"] = [500, {message: "broken"}]
    error = assert_raises(Registry::Error) { Registry.new(@server.url, retries: 1).schema(3) }
    assert_equal [500, 2], [error.status, @server.requests.size]
    assert_match(/broken/, error.message)
  end

  def test_does_not_try_again_what_was_refused
    @server["/schemas/ids/3"] = [401, {message: "who are you"}]
    assert_equal 401, assert_raises(Registry::Error) { Registry.new(@server.url).schema(3) }.status
    assert_equal 1, @server.requests.size
  end

  def test_a_connection_that_breaks_in_mid_read_is_thrown_away
    broken = true
    @server["/schemas/ids/3"] = lambda do |socket|
      body = '{"schema":"\"int\""}'
      socket.write("HTTP/1.1 200 X\r\nContent-Length: #{body.bytesize}\r\n\r\n#{broken ? body[0, 5] : body}")
      broken = false
    end
    assert_equal '"int"', Registry.new(@server.url, retries: 1).schema(3).schema
    assert_equal 2, @server.requests.size
  end

  def test_an_answer_that_does_not_come_ends_at_the_time_out
    @server["/schemas/ids/3"] = ->(socket) { socket.wait_readable(10) }
    error = assert_raises(Registry::Error) { Registry.new(@server.url, read_timeout: 0.1, retries: 0).schema(3) }
    assert_nil error.status
    assert_match(/does not answer/, error.message)
  end

  def test_nobody_there
    url = @server.url
    @server.close
    assert_match(/is it running/, assert_raises(Registry::Error) { Registry.new(url, retries: 0).schema(1) }.message)
    @server = RegistryServer.new
  end

  def test_can_be_interrupted
    @server["/schemas/ids/3"] = ->(socket) { socket.wait_readable(30) }
    thread = Thread.new { Registry.new(@server.url).schema(3) }
    thread.report_on_exception = false
    eventually { @server.requests.any? }
    thread.raise(Interrupt)
    assert_raises(Interrupt) { thread.value }
  end

  def test_authenticates
    Registry.new(@server.url, user: "me", password: "se:cret").schema(1)
    Registry.new(@server.url.sub("//", "//me:se%3Acret@")).schema(1)
    Registry.new(@server.url, token: "t0ken").schema(1)
    basic = "Basic #{["me:se:cret"].pack("m0")}"
    assert_equal([basic, basic, "Bearer t0ken"], @server.headers.map { |headers| headers["authorization"] })
    refute_includes Registry.new(@server.url.sub("//", "//me:secret@")).inspect, "secret"
  end

  def test_each_server_gets_its_own_user_and_password
    other = RegistryServer.new
    other.add(1, '"long"')
    @server["/schemas/ids/1"] = [503, {message: "down"}]
    urls = [@server.url.sub("//", "//u1:p1@"), other.url.sub("//", "//u2:p2@")]
    Registry.new(urls).schema(1)
    assert_equal(%w[u1:p1 u2:p2].map { |pair| "Basic #{[pair].pack("m0")}" }, [@server, other].map { |server| server.headers.last["authorization"] })
    Registry.new([@server.url, other.url], user: "me", password: "x").schema(1)
    assert_equal(["Basic #{["me:x"].pack("m0")}"] * 2, [@server, other].map { |server| server.headers.last["authorization"] })
    {[[urls[0], other.url], {}] => /only some URLs have a user/, [urls, {user: "me"}] => /user: is given, and a URL has one/,
     [urls, {password: "s3cret"}] => /password: is given, and a URL has one/, [@server.url, {password: "s3cret"}] => /password: needs user:/}.each do |(url, options), message|
      error = assert_raises(Guildhall::ArgumentError) { Registry.new(url, **options) }
      assert_match message, error.message
      refute_match(/s3cret|p1/, error.message)
    end
  ensure
    other.close
  end

  def test_the_next_server_is_asked_where_one_does_not_answer
    other = RegistryServer.new
    other.add(1, '"long"')
    @server["/schemas/ids/1"] = [503, {message: "down"}]
    registry = Registry.new([@server.url, other.url], retries: 0)
    assert_equal '"long"', registry.schema(1).schema
    registry.schema(2)
    assert_equal [["GET /schemas/ids/1"], ["GET /schemas/ids/1", "GET /schemas/ids/2"]], [@server.requests, other.requests]
    other.close
    @server.add(3, '"int"')
    assert_equal '"int"', registry.schema(3).schema, "and the first one again, where the second is gone"
    assert_equal registry.url, Registry.new("#{@server.url}, #{registry.url.split(",").last}").url
  end

  def test_context_and_headers
    @server["/contexts/.staging/schemas/ids/1"] = [200, {schema: '"int"'}]
    assert_equal '"int"', Registry.new(@server.url, context: "staging", headers: {"target-sr-cluster" => "lsrc-1"}).schema(1).schema
    assert_equal "lsrc-1", @server.headers.last["target-sr-cluster"]
  end

  def test_why_a_schema_is_not_compatible
    path = "/compatibility/subjects/a/versions/latest?verbose=true"
    registry = Registry.new(@server.url)
    assert_empty registry.incompatibilities("a", '"int"'), "a subject that does not exist yet"
    @server[path] = [200, {is_compatible: false, messages: ["a field is missing"]}]
    assert_equal ["a field is missing"], registry.incompatibilities("a", '"int"')
    refute registry.compatible?("a", '"int"')
    @server[path] = [200, {is_compatible: true}]
    assert registry.compatible?("a", '"int"')
  end

  def test_subjects
    @server["/subjects/a%2Fb/versions/latest"] = [200, {id: 4, subject: "a/b", version: 2, schemaType: "JSON", schema: "{}"}]
    @server["/subjects/a%2Fb/versions"] = [200, {id: 5}]
    @server["/compatibility/subjects/a%2Fb/versions/latest?verbose=true"] = [200, {is_compatible: false}]
    registry = Registry.new(@server.url)
    entry = registry.latest("a/b")
    assert_equal [4, 2, true, false, false], [entry.id, entry.version, entry.json?, entry.avro?, entry.protobuf?]
    assert_equal 5, registry.register("a/b", Guildhall::Avro::Schema.parse("int"))
    refute registry.compatible?("a/b", '"int"')
    assert_equal 404, assert_raises(Registry::Error) { registry.latest("none") }.status
  end

  # Avro, JSON Schema and Protobuf are texts with a type to the registry; what they mean is for others to say.
  def test_subjects_of_every_type
    texts = {"AVRO" => '"int"', "JSON" => '{"type":"integer"}', "PROTOBUF" => 'syntax = "proto3"; message Order { int64 id = 1; }'}
    texts.each_with_index do |(type, schema), index|
      @server["/subjects/s-#{type}/versions/latest"] = [200, {id: 30 + index, subject: "s-#{type}", version: 1, schema:, schemaType: type}]
      @server["/subjects/s-#{type}/versions"] = [200, {id: 30 + index}]
      registry = Registry.new(@server.url)
      entry = registry.latest("s-#{type}")
      assert_equal [type, schema], [entry.type, entry.schema]
      assert_equal [type], %w[AVRO JSON PROTOBUF].select { |name| entry.public_send(:"#{name.downcase}?") }
      assert Ractor.shareable?(entry)
      assert_equal entry.id, registry.register("s-#{type}", schema, type:)
      assert_equal entry, registry.cached(entry.id)
    end
    assert Guildhall::Schema.new(Registry.new(@server.url).latest("s-JSON").schema).validator.valid?(3)
  end

  def test_schemas_that_refer_to_others
    part = {type: "record", name: "shop.Part", fields: [{name: "n", type: "int"}]}
    @server["/subjects/part/versions/1"] = [200, {id: 20, subject: "part", version: 1, schema: JSON.generate(part)}]
    @server.add(21, {type: "array", items: "shop.Part"}, references: [{name: "shop.Part", subject: "part", version: 1}])
    registry = Registry.new(@server.url)
    assert_equal "shop.Part", registry.avro_schema(registry.schema(21)).root.items.name
  end

  # Several ways lead to one schema, and a schema uses what only those that it refers to refer to.
  def test_schemas_that_refer_to_others_over_several_steps
    money = {type: "record", name: "shop.Money", fields: [{name: "cents", type: "long"}]}
    add_version("money", 1, money)
    {"item" => "shop.Item", "fee" => "shop.Fee"}.each do |subject, name|
      add_version(subject, 3, {type: "record", name:, fields: [{name: "price", type: "shop.Money"}]}, [{name: "shop.Money", subject: "money", version: 1}])
    end
    order = {type: "record", name: "shop.Order", fields: %w[Item Fee Money].map { |type| {name: type.downcase, type: "shop.#{type}"} }}
    @server.add(21, order, references: [{name: "shop.Item", subject: "item", version: 3}, {name: "shop.Fee", subject: "fee", version: 3}])
    registry = Registry.new(@server.url)
    codec = Guildhall::Avro::Confluent.new(registry)
    assert_equal({"item" => {"price" => {"cents" => 1}}, "fee" => {"price" => {"cents" => 2}}, "money" => {"cents" => 3}},
      codec.decode("\0\0\0\0\x15\2\4\6".b))
    assert_equal 2, codec.lazy.decode("\0\0\0\0\x15\2\4\6".b).dig("fee", "price", "cents")
  end

  # What was written with them can still be read.
  def test_schemas_that_refer_to_what_was_deleted
    part = {type: "record", name: "shop.Part", fields: [{name: "n", type: "int"}]}
    @server["/subjects/part/versions/1?deleted=true"] = [200, {id: 20, subject: "part", version: 1, schema: JSON.generate(part)}]
    @server["/subjects/part/versions/1"] = [404, {error_code: 40_401, message: "Subject 'part' not found."}]
    @server.add(21, {type: "array", items: "shop.Part"}, references: [{name: "shop.Part", subject: "part", version: 1}])
    registry = Registry.new(@server.url)
    assert_equal "shop.Part", registry.avro_schema(registry.schema(21)).root.items.name
    @server["/subjects/part/versions/1?deleted=true"] = [404, {error_code: 40_401, message: "none"}]
    assert_equal "shop.Part", registry.avro_schema(registry.schema(21)).root.items.name, "a version never changes"
    registry = Registry.new(@server.url)
    error = assert_raises(Registry::RefusedError) { registry.avro_schema(registry.schema(21)) }
    assert_match(/no version 1 of the subject part\z/, error.message)
  end

  # As many ways lead to the last schema as 2 to the power of 16.
  def test_each_schema_is_asked_for_once_however_many_ways_lead_to_it
    17.times do |level|
      below = level == 16 ? [] : %w[A B].map { |side| "#{side}#{level + 1}" }
      %w[A B].each do |side|
        schema = {type: "record", name: "#{side}#{level}", fields: below.map { |name| {name: name.downcase, type: ["null", name]} }}
        references = below.map { |name| {name:, subject: name, version: 1} }
        add_version("#{side}#{level}", 1, schema, references)
        @server.add(50, schema, references:) if level.zero? && side == "A"
      end
    end
    registry = Registry.new(@server.url)
    assert_equal({"a1" => nil, "b1" => nil}, Guildhall::Avro::Confluent.new(registry).decode("\0\0\0\0\x32\0\0".b))
    assert_equal 33, @server.requests.size
    Guildhall::Avro::Confluent.new(registry).decode("\0\0\0\0\x32\0\0".b)
    assert_equal 33, @server.requests.size, "another codec, the same registry"
  end

  def test_a_version_that_may_change_is_asked_for_again
    @server["/subjects/part/versions/-1"] = [200, {id: 20, subject: "part", version: 1, schema: '"int"'}]
    @server.add(21, '"int"', references: [{name: "Part", subject: "part", version: -1}])
    registry = Registry.new(@server.url)
    2.times { registry.references(registry.schema(21)) }
    assert_equal 2, @server.requests.count("GET /subjects/part/versions/-1")
  end

  def test_schemas_that_refer_to_each_other
    add_version("a", 1, {type: "record", name: "A", fields: []}, [{name: "B", subject: "b", version: 2}])
    add_version("b", 2, {type: "record", name: "B", fields: []}, [{name: "A", subject: "a", version: 1}])
    @server.add(21, '"int"', references: [{name: "A", subject: "a", version: 1}])
    registry = Registry.new(@server.url)
    [-> { registry.avro_schema(registry.schema(21)) }, -> { registry.resolve(registry.schema(21)) { |entry, _| entry } }].each do |resolution|
      error = assert_raises(Registry::RefusedError, &resolution)
      assert_match(/in a cycle: version 1 of a → version 2 of b → version 1 of a;/, error.message)
    end
  end

  def test_references_and_normalization_are_sent
    add_version("part", 1, {type: "record", name: "shop.Part", fields: [{name: "n", type: "int"}]})
    schema = {type: "array", items: "shop.Part"}
    references = [{name: "shop.Part", subject: "part", version: 1}]
    answer = {id: 21, subject: "parts-value", version: 1, schema: JSON.generate(schema), references:}
    @server["/subjects/parts-value?normalize=true"] = @server["/subjects/parts-value"] = [200, answer]
    @server["/subjects/parts-value/versions?normalize=true"] = [200, {id: 21}]
    @server.add(21, schema, references:)
    [{}, {normalize: true}, {normalize: true, register: true}].each do |options|
      @server.requests.clear
      @server.bodies.clear
      codec = Guildhall::Avro::Confluent.new(Registry.new(@server.url), topic: "parts", schema:, references:, **options)
      assert_equal "\0\0\0\0\x15\2\n\0".b, codec.encode([{"n" => 5}])
      posted = @server.requests.find { |line| line.start_with?("POST") }
      assert_equal ["normalize=true"].first(options.size.clamp(0, 1)), posted.scan("normalize=true")
      assert_equal [{"name" => "shop.Part", "subject" => "part", "version" => 1}], JSON.parse(@server.bodies.reject(&:empty?).first)["references"]
    end
    ["part", [1], [{name: "x"}]].each do |wrong|
      error = assert_raises(Guildhall::ArgumentError) { Guildhall::Avro::Confluent.new(Registry.new(@server.url), topic: "parts", schema:, references: wrong) }
      assert_match(/references must be an Array of Hashes with name, subject and version/, error.message)
    end
  end

  def test_check_at_boot
    @server["/subjects"] = [200, %w[orders]]
    registry = Registry.new(@server.url)
    assert_same registry, registry.check!(%w[orders])
    assert_match(/users/, assert_raises(Registry::Error) { registry.check!(%w[orders users]) }.message)
    ["orders", [:orders], nil].each do |wrong|
      assert_match(/subjects must be an Array of Strings/, assert_raises(Guildhall::ArgumentError) { registry.check!(wrong) }.message)
    end
    @server["/subjects"] = [200, {orders: 1}]
    assert_match(/is it a schema registry/, assert_raises(Registry::Error) { registry.check!(%w[orders]) }.message)
  end

  def test_answers_that_are_no_registrys
    ["<html>", "", "null", "3", "[]", "{}", '{"error":"none"}', "\xFF".b].each do |body|
      @server["/schemas/ids/3"] = @server["/subjects/a/versions/latest"] = @server["/subjects/a/versions"] = [200, body]
      registry = Registry.new(@server.url, retries: 0)
      [-> { registry.schema(3) }, -> { registry.latest("a") }, -> { registry.register("a", "{}") }].each do |request|
        error = assert_raises(Registry::Error, body, &request)
        assert_match(/is it a schema registry/, error.message)
        assert_predicate error, :outage?
      end
    end
  end

  def test_answers_whose_parts_make_no_sense
    reference = {name: "x", subject: "a", version: 1}
    [{references: "foo"}, {references: [nil]}, {references: [{}]}, {references: {a: 1}}, {references: [{**reference, version: "1 2"}]},
     {references: [{**reference, subject: 5}]}, {schema: 5}, {schema: {type: "string"}}, {schemaType: 5}, {guid: 5}, {version: "one"}].each do |part|
      @server["/schemas/ids/3"] = @server["/subjects/a/versions/latest"] = @server["/subjects/a"] = [200, {id: 3, schema: '"string"', **part}]
      registry = Registry.new(@server.url, retries: 0)
      [-> { registry.schema(3) }, -> { registry.latest("a") }, -> { registry.lookup("a", "{}") }].each do |request|
        error = assert_raises(Registry::Error, part.inspect, &request)
        assert_match(/answers with something whose #{part.keys.first.to_s.inspect} must be .*is it a schema registry/, error.message)
        assert_predicate error, :outage?
      end
    end
    [{}, {id: nil}, {id: "x"}, {id: 2**32}, {id: -1}].each do |part|
      @server["/subjects/a/versions/latest"] = @server["/subjects/a/versions"] = [200, {schema: '"string"', **part}]
      registry = Registry.new(@server.url, retries: 0)
      [-> { registry.latest("a") }, -> { registry.register("a", "{}") }].each do |request|
        assert_match(/"id"/, assert_raises(Registry::Error, part.inspect, &request).message)
      end
    end
  end

  def test_what_cannot_be_sent
    registry = Registry.new(@server.url)
    ["\xff", {"a" => Float::NAN}, {"a" => "\xff"}].each do |schema|
      error = assert_raises(Guildhall::ArgumentError, schema.inspect) { registry.register("a", schema) }
      assert_match(/the schema cannot be written as JSON, in UTF-8/, error.message)
    end
    assert_equal 404, assert_raises(Registry::RefusedError) { registry.version("a", "1 2") }.status
    assert_equal ["GET /subjects/a/versions/1%202"], @server.requests
  end

  def test_an_answer_that_comes_in_drops_has_an_end
    {"body" => "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n", "header" => "HTTP/1.1 200 OK\r\nX: "}.each do |part, beginning|
      @server["/schemas/ids/3"] = lambda do |socket|
        socket.write(beginning)
        socket.write("x") until socket.wait_readable(0.05)
      end
      message = Timeout.timeout(30) { assert_raises(Registry::Error, part) { Registry.new(@server.url, read_timeout: 0.3, retries: 0).schema(3) }.message }
      assert_match(/does not answer: the answer has not ended after 0\.\d+ s/, message)
    end
  end

  def test_an_answer_that_is_too_long
    @server["/schemas/ids/3"] = lambda do |socket|
      socket.write("HTTP/1.1 200 OK\r\n\r\n")
      100.times { socket.write("x" * 1_000_000) }
    end
    assert_match(/answers with more than 10000000 bytes/, refusal(3))
    assert_equal 1, @server.requests.size
  end

  def test_answers_that_are_no_http
    @server["/schemas/ids/3"] = ->(socket) { socket.write("SSH-2.0-OpenSSH_9.2\r\n\r\n") }
    assert_match(/does not answer: .*HTTPBadResponse/, refusal(3))
  end

  def test_wrong_urls
    ["ftp://x", "nonsense", "http://", "http:// "].each { |url| assert_raises(Guildhall::ArgumentError, url) { Registry.new(url) } }
  end

  def test_wrong_options
    {retries: -1, unknown_for: nil, unknown_after: -1, connect_timeout: "3", read_timeout: 0, user: :me, password: 918_273, token: 918_273, headers: "a: b", context: 5, ca_file: 1, certificate: 1,
     key: 1}.each do |name, value|
      error = assert_raises(Guildhall::ArgumentError, name.to_s) { Registry.new("http://localhost", name => value) }
      assert_match(/SchemaRegistry: #{name}/, error.message)
      refute_includes error.message, "918273"
    end
    [{"a" => "x\r\nb: c"}, {"a b" => "x"}, {"" => "x"}, {nil => nil}, {"a\n" => "x"}].each do |headers|
      error = assert_raises(Guildhall::ArgumentError, headers.inspect) { Registry.new("http://localhost", headers:) }
      assert_match(/SchemaRegistry: headers must be a Hash of Strings/, error.message)
      refute_includes error.message, "b: c"
    end
    ["", ".", " "].each { |context| assert_match(/context must be/, assert_raises(Guildhall::ArgumentError) { Registry.new("http://localhost", context:) }.message) }
    assert_match(/one line/, assert_raises(Guildhall::ArgumentError) { Registry.new("http://localhost", token: "x\ny") }.message)
    %w[http://localhost/?a=b http://localhost/#a].each do |url|
      assert_match(/no query and no fragment/, assert_raises(Guildhall::ArgumentError) { Registry.new(url) }.message)
    end
    [nil, 5, [:a], {}].each { |url| assert_raises(Guildhall::ArgumentError, url.inspect) { Registry.new(url) } }
    assert_raises(Guildhall::NotShareableError) { Registry.new("http://localhost", token: ->(*) { flunk }) }
  end

  private

  def add_version(subject, version, schema, references = [])
    @server["/subjects/#{subject}/versions/#{version}"] = [200, {id: @ids = (@ids || 1_000) + 1, subject:, version:, schema: JSON.generate(schema), references:}]
  end

  def refusal(id = 9, **)
    assert_raises(Registry::Error) { Registry.new(@server.url, retries: 0, **).schema(id) }.message
  end
end
