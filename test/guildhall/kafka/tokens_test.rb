# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"
require "json"

class KafkaTokensTest < GuildhallTest
  Tokens = Guildhall::Kafka::Tokens
  SETTINGS = {"bootstrap.servers": "127.0.0.1:1", "security.protocol": "sasl_plaintext", "sasl.mechanism": "OAUTHBEARER"}.freeze
  SECRET = "MARKED-TOKEN"
  private_constant :Tokens, :SETTINGS, :SECRET

  # A client whose tokens can be read. Its handle is itself.
  class Holder
    attr_reader :tokens, :given

    def initialize
      @tokens = []
      @given = Thread::Queue.new
      @closed = false
    end

    def with_handle
      raise Rdkafka::ClosedInnerError if @closed

      yield self
    end

    def close = @closed = true

    def give(token)
      @tokens << token
      @given << token
      0
    end
  end

  def setup
    @events = Thread::Queue.new
    @config = Guildhall::Kafka::Config.new
    @config.kafka = SETTINGS
    @calls = Thread::Queue.new
    @held = []
  end

  def teardown
    @held.each { |keeper, holder| keeper.remove(holder) }
    eventually { Thread.list.none? { |thread| thread.name.to_s.start_with?("guildhall token") } }
  end

  def test_a_client_gets_a_token_and_later_ones_get_the_same
    tokens { {token: SECRET, expires_at: Time.now + 600, principal: "alice", extensions: {logicalCluster: "lkc-1"}} }
    first = hold
    token = first.given.pop(timeout: 60)
    second = hold
    assert_same token, second.given.pop(timeout: 60)
    assert_equal [SECRET, "alice", {"logicalCluster" => "lkc-1"}], [token.value, token.principal, token.extensions]
    assert_in_delta 600, token.left, 5
    assert_in_delta 480, token.renew_at - Time.now.to_f, 35
    assert_equal 1, @calls.size
    assert_nil Guildhall::Kafka::TokenError.of(settings)
    assert_empty @events
    [token, @tokens, @tokens.keeper(settings), settings, [token], @config].each { |object| refute_includes object.inspect, SECRET }
    refute_includes token.to_s, SECRET
  end

  def test_the_source_is_told_for_whom
    @config.client_id = "shop"
    @config.kafka = {**SETTINGS, "sasl.oauthbearer.config": "role=reader"}
    tokens { {token: SECRET, expires_at: Time.now.to_i + 600} }
    assert_equal "shop", hold.given.pop(timeout: 60).principal
    client = @calls.pop
    assert_equal ["127.0.0.1:1", "shop", "role=reader"], client.to_h.values
    assert_predicate client, :frozen?
    refute_includes client.inspect, "reader"
    # Others log in as somebody else.
    hold({**settings, "sasl.oauthbearer.config": "role=writer"}).given.pop(timeout: 60)
    assert_equal "role=writer", @calls.pop.config
  end

  def test_it_is_renewed_before_it_expires
    number = 0
    tokens { {token: "t#{number += 1}", expires_at: Time.now + 2} }
    holder = hold
    assert_equal(%w[t1 t2 t3], Array.new(3) { holder.given.pop(timeout: 60)&.value })
    assert(holder.tokens.all? { |one| one.renew_at < one.expires_at })
    assert_empty @events
  end

  def test_what_a_jwt_says_needs_not_be_said_again
    expires = Time.now.to_i + 100
    jwt = [{alg: "none"}, {sub: "bob", exp: expires}].map { |part| [part.to_json].pack("m0").tr("+/", "-_").delete("=") }.join(".")
    tokens { {token: "#{jwt}."} }
    token = hold.given.pop(timeout: 60)
    assert_equal ["bob", expires.to_f], [token.principal, token.expires_at]
  end

  # librdkafka takes neither nothing nor NUL bytes.
  def test_a_subject_that_is_no_principal
    @config.client_id = "shop"
    ["", "b\0b", 5].each do |subject|
      jwt = [{alg: "none"}, {sub: subject, exp: Time.now.to_i + 100}].map { |part| [part.to_json].pack("m0").tr("+/", "-_").delete("=") }.join(".")
      tokens { {token: "#{jwt}."} }
      assert_equal "shop", hold.given.pop(timeout: 60).principal
    end
  end

  def test_a_hash_with_ways_of_its_own
    tokens { Hash.new { |_, name| raise(KeyError, name) }.merge!(token: SECRET, expires_at: Time.now + 600) }
    assert hold.given.pop(timeout: 60)
  end

  def test_an_outage_is_told_once_and_the_token_in_use_stays
    failing = false
    tokens(pauses: Guildhall::GrowingPauses.new(0.1, 0.2)) do
      raise IOError, "the source is down" if failing

      {token: "t", expires_at: Time.now + 8}
    end
    holder = hold
    assert holder.given.pop(timeout: 60)
    failing = true
    name, payload = @events.pop(timeout: 60)
    assert_equal "oauth_token.unavailable", name
    assert_match(/\Aconfig\.oauth_token has raised IOError \(tokens_test\.rb:\d+\): the source is down\z/, payload[:reason])
    assert_operator payload[:left], :>, 0
    refute payload[:reminder]
    assert_instance_of Guildhall::Kafka::TokenError, payload[:error]
    assert_instance_of IOError, payload[:error].cause
    assert_nil Guildhall::Kafka::TokenError.of(settings), "the token is still valid"
    # It has expired: that is another matter.
    name, payload = @events.pop(timeout: 60)
    assert_equal ["oauth_token.unavailable", 0, true], [name, *payload.values_at(:left, :reminder)]
    error = Guildhall::Kafka::UnreachableError.at(settings, -185, "it was asked for topics")
    assert_instance_of Guildhall::Kafka::TokenError, error
    assert_match(/\Ano token for Kafka at 127\.0\.0\.1:1: config\.oauth_token has raised IOError/, error.message)
    assert_equal "_AUTHENTICATION", error.code_name
    assert_operator @calls.size, :>=, 3
    failing = false
    name, payload = @events.pop(timeout: 60)
    assert_equal ["oauth_token.available", %i[servers seconds]], [name, payload.keys]
    assert holder.given.pop(timeout: 60)
    assert_nil Guildhall::Kafka::TokenError.of(settings)
    sleep(0.3)
    assert_empty @events
  end

  def test_a_token_that_librdkafka_does_not_take_is_told_and_another_one_is_asked_for
    codes = [-186]
    tokens(give: ->(holder, token) { holder.give(token) && codes.shift.to_i }) { {token: SECRET, expires_at: Time.now + 60} }
    holder = hold
    name, payload = @events.pop(timeout: 60)
    assert_equal ["oauth_token.unavailable", "librdkafka does not take the token of config.oauth_token (_INVALID_ARG)"], [name, payload[:reason]]
    refute_includes payload[:error].full_message, SECRET
    assert_equal "oauth_token.available", @events.pop(timeout: 60)&.first
    assert_equal 2, holder.tokens.size
    assert_nil Guildhall::Kafka::TokenError.of(settings)
  end

  def test_a_source_that_hangs_holds_up_nobody_and_is_told
    started = Thread::Queue.new
    hanging = true
    tokens(fetch_seconds: 0.2, pauses: Guildhall::GrowingPauses.new(0.1, 0.2)) do
      started << Thread.current
      sleep if hanging
      {token: "t", expires_at: Time.now + 60}
    end
    holder = hold
    thread = started.pop(timeout: 60)
    assert_match(/config\.oauth_token has not returned yet, after \d/, Guildhall::Kafka::TokenError.of(settings).message)
    name, payload = @events.pop(timeout: 60)
    assert_equal "oauth_token.unavailable", name
    assert_includes payload[:reason], "has not returned within 0.2 s: give its requests time-outs"
    eventually { !thread.alive? }
    hanging = false
    assert holder.given.pop(timeout: 60)
  end

  # `sleep` in its `ensure` makes a thread go on although it was killed.
  def test_a_source_that_cannot_be_ended_is_not_called_a_second_time
    let_go = Thread::Queue.new
    tokens(fetch_seconds: 0.1, pauses: Guildhall::GrowingPauses.new(0.05, 0.05)) do
      begin
        sleep
      ensure
        let_go.pop
      end
      {token: "t", expires_at: Time.now + 60}
    end
    hold
    3.times { eventually { @tokens.keeper(settings).error.reason.include?("has not returned within") } || sleep(0.1) }
    assert_equal 1, @calls.size
    let_go << true
    eventually { @calls.size > 1 }
    let_go.close
  end

  def test_what_is_wrong_with_an_answer_is_said_without_the_token
    {
      nil => "nil, not a Hash with token:",
      SECRET => "a String, not a Hash with token:",
      {"token" => SECRET} => "the member \"token\", which means nothing: its members are :token, :expires_at",
      {token: SECRET, expiry_at: 5} => "the member \"expiry_at\", which means nothing; did you mean expires_at?: its members are",
      {token: SECRET, lifetime_ms: 5} => "the member \"lifetime_ms\", which means nothing",
      {SECRET => 1, token: SECRET} => "the member, which means nothing",
      {} => "token: that must be a String, and is nil",
      {token: :"#{SECRET}"} => "token: that must be a String, and is a Symbol",
      {token: "#{SECRET}\n"} => "token: that has a space, a line break",
      {token: ""} => "token: that has a space, a line break",
      {token: SECRET} => "without expires_at:, which the token does not say itself",
      {token: "a.#{["[1]"].pack("m0")}.c"} => "without expires_at:",
      {token: "a.\xFF.#{SECRET}".b} => "token: that has a space",
      {token: SECRET, expires_at: "later"} => "expires_at: that must be a Time, or seconds since 1970, and is a String",
      {token: SECRET, expires_at: Complex(1, 2)} => "expires_at: that must be a Time",
      {token: SECRET, expires_at: Float::NAN} => "expires_at: NaN is no time",
      {token: SECRET, expires_at: (Time.now.to_f * 1000).to_i} => "are these milliseconds?",
      {token: SECRET, expires_at: Time.now - 5} => "a token that has expired ",
      {token: SECRET, expires_at: Time.now + 5, principal: 5} => "principal: that must be a String, and is an Integer",
      {token: SECRET, expires_at: Time.now + 5, principal: "a\0"} => "principal: that is empty, or has NUL bytes",
      {token: SECRET, expires_at: Time.now + 5, extensions: SECRET} => "extensions: that must be a Hash of Strings, and is a String",
      {token: SECRET, expires_at: Time.now + 5, extensions: {auth: "x"}} => "extensions: names consist of letters, and `auth` is reserved",
      {token: SECRET, expires_at: Time.now + 5, extensions: {a: "#{SECRET}\x01"}} => "extensions: a has a value that is no String of printable ASCII"
    }.each do |answer, problem|
      tokens { answer }
      hold
      _, payload = @events.pop(timeout: 60)
      assert_includes payload[:reason], problem
      assert_operator payload[:reason], :start_with?, "config.oauth_token has answered "
      refute_includes payload.inspect + payload[:error].full_message, SECRET
      release
    end
  end

  def test_whatever_the_source_does_it_is_called_again
    [-> { exit }, -> { throw :out }, -> { raise NotImplementedError, "later" }, -> { {}.fetch("MARKED") }].each do |deed|
      tokens(pauses: Guildhall::GrowingPauses.new(0.02, 0.02)) { deed.call }
      hold
      _, payload = @events.pop(timeout: 60)
      assert_match(/config\.oauth_token has raised/, payload[:reason])
      refute_includes payload[:reason], "MARKED"
      eventually { @calls.size > 2 }
      release
      @calls.clear
    end
  end

  def test_a_client_that_is_closed_gets_nothing_and_the_last_one_ends_the_thread
    tokens { {token: "t", expires_at: Time.now + 1.4} }
    open = hold
    closed = hold
    [open, closed].each { |holder| holder.given.pop(timeout: 60) }
    closed.close
    open.given.pop(timeout: 60)
    assert_equal 1, closed.tokens.size
    release
    eventually { Thread.list.none? { |thread| thread.name == "guildhall tokens" } }
    # The next one gets the token that is there, if that is still valid.
    calls = @calls.size
    assert hold.given.pop(timeout: 60)
    assert_equal calls, @calls.size
  end

  def test_a_client_that_nobody_has_closed_is_left_to_the_collector
    tokens { {token: "t", expires_at: Time.now + 60} }
    hold
    keeper = @held.first.first
    eventually { @held.first.last.tokens.any? }
    50.times { hold_and_forget(keeper) }
    eventually do
      GC.start
      holders(keeper).size < 25
    end
  ensure
    holders(keeper).each { |holder| keeper.remove(holder) }
  end

  def test_a_forked_process_has_its_own
    tokens { {token: "t", expires_at: Time.now + 60} }
    hold.given.pop(timeout: 60)
    reader, writer = IO.pipe
    pid = fork do
      holder = hold
      token = holder.given.pop(timeout: 60)
      writer.write([token&.value, @calls.size].join(" "))
      writer.close
      exit!(0)
    end
    writer.close
    assert_equal "t 2", reader.read
    reader.close
    Process.wait(pid)
  end

  # librdkafka's own clients: none of them asks for a callback, all take tokens.
  def test_all_clients_ask_for_tokens
    tokens { {token: "t", expires_at: Time.now + 60, extensions: {a: "b", c: "d"}} }
    given = Thread::Queue.new
    set = Guildhall::Kafka::Broker::Librdkafka.method(:set_token)
    @numbers[:give] = ->(handle, token) { set.call(handle, token).tap { |code| given << code } }
    consumer = Guildhall::Kafka::Group::Client.new({**settings, "group.id": "g"}, Object.new)
    admin = Guildhall::Kafka::Broker::AdminClient.new(settings)
    producer = Guildhall::Kafka::Producing::Client.new(Guildhall::Kafka::Producing::Settings.of(@config)) { nil }
    assert_equal([0, 0, 0], Array.new(3) { given.pop(timeout: 60) })
    assert_equal 1, @calls.size
    producer.close(0)
    admin.close
    assert_equal 1, holders(@tokens.keeper(settings)).size
    consumer.close(timeout: 1)
    assert_equal 0, holders(@tokens.keeper(settings)).size
  end

  def test_clients_that_log_in_otherwise_have_none
    tokens { raise "not to be called" }
    [{"sasl.mechanism": "PLAIN"}, {"security.protocol": "ssl"}, {"sasl.oauthbearer.method": "oidc"}, {"enable.sasl.oauthbearer.unsecure.jwt": true}].each do |other|
      assert_nil Tokens.keeper({**settings, **other}), other
    end
    assert_nil Tokens.keeper(SETTINGS)
    assert Tokens.keeper({**settings, "security.protocol": "SASL_SSL", "sasl.mechanism": nil, "sasl.mechanisms": "OAUTHBEARER"})
  end

  private

  def tokens(**numbers, &source)
    @config.oauth_token = lambda do |client|
      @calls << client
      source.call
    end
    @numbers = {give: ->(holder, token) { holder.give(token) }, **numbers}
    @tokens = Tokens.new(@config, **@numbers) { |name, **payload| @events << [name, payload] }
    @config.instance_variable_set(:@tokens, @tokens)
    @tokens.instance_variable_set(:@numbers, @numbers)
  end

  def settings = @config.librdkafka

  def hold(settings = self.settings)
    holder = Holder.new
    keeper = Tokens.keeper(settings)
    @held << [keeper, holder]
    keeper.add(holder)
    holder
  end

  def holders(keeper) = keeper.instance_variable_get(:@holders).keys
  def hold_and_forget(keeper) = keeper.add(Holder.new)

  def release
    @held.each { |keeper, holder| keeper.remove(holder) }
    @held.clear
  end
end
