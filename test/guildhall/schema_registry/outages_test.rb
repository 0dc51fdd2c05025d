# frozen_string_literal: true

require "test_helper"
require "support/registry_server"
require "guildhall/schema_registry"

# What a registry remembers of not having been reached.
class SchemaRegistryOutagesTest < GuildhallTest
  Registry = Guildhall::SchemaRegistry

  def setup
    @server = RegistryServer.new
    @server.add(1, '"string"')
  end

  def teardown
    @server.close
  end

  def test_an_outage_and_its_end
    registry = Registry.new(@server.url, retries: 0)
    assert_nil registry.outage
    @server["/schemas/ids/3"] = [503, {message: "not today"}]
    2.times { assert_raises(Registry::Error) { registry.schema(3) } }
    outage = registry.outage
    assert_equal [503, "/schemas/ids/3"], [outage.status, outage.path]
    assert_match(/503 not today/, outage.reason)
    assert_operator outage.seconds, :>=, 0
    assert_equal 503, ractor_value(Ractor.new(registry) { |shared| shared.outage.status })
    registry.schema(1)
    refute_nil registry.outage, "another schema is no answer about this one"
    @server.add(3, '"int"')
    registry.schema(3)
    assert_nil registry.outage
  end

  def test_what_is_missing_or_refused_is_no_outage
    registry = Registry.new(@server.url, retries: 0)
    registry.schema(9)
    @server["/subjects/a/versions/x"] = [422, {error_code: 42_202, message: "invalid version"}]
    assert_raises(Registry::RefusedError) { registry.version("a", "x") }
    assert_nil registry.outage
  end

  # Who comes a moment later would wait as long for nothing: threads are not for that.
  def test_a_registry_without_an_answer_is_left_alone_for_a_moment
    silent = true
    @server["/schemas/ids/3"] = ->(socket) { silent ? socket.wait_readable(10) : socket.write("HTTP/1.1 200 X\r\nConnection: close\r\n\r\n{\"schema\":\"int\"}") }
    registry = Registry.new(@server.url, retries: 0, read_timeout: 0.1)
    messages = Array.new(3) { assert_raises(Registry::Error) { registry.schema(3) }.message }
    assert_equal [1, 1], [messages.uniq.size, @server.requests.size]
    silent = false
    eventually { registry.schema(3) rescue nil } # rubocop:disable Style/RescueModifier
    assert_nil registry.outage
  end

  def test_any_answer_ends_an_outage_without_one
    @server["/schemas/ids/3"] = ->(socket) { socket.wait_readable(10) }
    registry = Registry.new(@server.url, retries: 0, read_timeout: 0.1)
    assert_raises(Registry::Error) { registry.schema(3) }
    registry.check!
    assert_nil registry.outage
  end

  # A clock that is set by hand.
  class Hand
    attr_accessor :now

    def initialize = @now = 100.0
  end

  def test_an_answer_about_another_path_ends_no_outage_with_a_status
    outages = outages()
    refuse(outages, "/schemas/ids/7")
    @clock.now += 1
    refuse(outages, "/schemas/ids/8")
    outages.answered("/schemas/ids/9")
    assert_equal ["/schemas/ids/7", 100.0], [outages.current.path, outages.current.since], "the oldest"
    outages.answered("/schemas/ids/7")
    assert_equal ["/schemas/ids/8", 101.0], [outages.current.path, outages.current.since]
    outages.answered("/schemas/ids/8")
    assert_nil outages.current
  end

  def test_that_there_was_no_answer_does_not_hide_what_was_refused_before
    outages = outages()
    refuse(outages, "/schemas/ids/7")
    @clock.now += 1
    outages.failed("/schemas/ids/8", Registry::Error.new("no answer"))
    assert_equal "/schemas/ids/7", outages.current.path
    assert_raises(Registry::Error) { outages.check! }
    outages.answered("/schemas/ids/9")
    outages.check!
    assert_equal "/schemas/ids/7", outages.current.path
  end

  def test_an_outage_of_several_kinds_is_one
    outages = outages()
    ["no answer", 503, "no answer"].each do |kind|
      outages.failed("/schemas/ids/7", Registry::Error.new("no", status: kind.is_a?(Integer) ? kind : nil))
      assert_equal [100.0, kind.is_a?(Integer) ? kind : nil], [outages.current.since, outages.current.status]
      @clock.now += 1
    end
  end

  # Two threads ask: the answer of the one is there before the failure of the other is told. Nobody might ask again for long.
  def test_a_failure_that_is_older_than_an_answer_is_no_outage
    outages = outages()
    failing = -> { outages.watch("/schemas/ids/7") { raise Registry::Error.new("no", status: 503) } }
    silent = -> { outages.watch("/schemas/ids/7") { raise Registry::Error, "no answer" } }
    [failing, silent].each do |one|
      assert_raises(Registry::Error) do
        outages.watch("/schemas/ids/7") do
          @clock.now += 1
          outages.watch("/schemas/ids/7") { "schema" }
          raise Registry::Error.new("late", status: one == failing ? 503 : nil)
        end
      end
      assert_nil outages.current
      @clock.now += 1
      assert_raises(Registry::Error, &one)
      assert_equal "/schemas/ids/7", outages.current.path
      outages.answered("/schemas/ids/7")
    end
  end

  # A request that was on its way for as long says nothing of now.
  def test_who_is_refused_has_an_answer
    outages = outages()
    assert_raises(Registry::Error) do
      outages.watch("/schemas/ids/7") do
        @clock.now += 1
        refuse(outages, "/schemas/ids/8")
        raise Registry::Error, "no answer"
      end
    end
    outages.check!
    assert_equal "/schemas/ids/8", outages.current.path
  end

  def test_an_answer_about_another_path_hides_no_refusal
    outages = outages()
    assert_raises(Registry::Error) do
      outages.watch("/schemas/ids/7") do
        @clock.now += 1
        (0..Registry::Outages::MAX).each { |id| outages.answered("/schemas/ids/#{id + 8}") }
        raise Registry::Error.new("forbidden", status: 403)
      end
    end
    assert_equal "/schemas/ids/7", outages.current.path
  end

  def test_pauses_grow_while_there_is_no_answer_whatever_is_asked_for
    outages = outages()
    pauses = Array.new(7) do |index|
      outages.failed("/schemas/ids/#{index}", Registry::Error.new("no answer"))
      outages.current.pause
    end
    assert_equal [0.5, 1.0, 2.0, 4.0, 8.0, 8.0, 8.0], pauses
  end

  def test_what_is_remembered_is_bounded_and_forgotten
    outages = outages()
    max = Registry::Outages::MAX
    (max + 1).times do |index|
      @clock.now += 0.1
      refuse(outages, "/schemas/ids/#{index}")
    end
    assert_equal "/schemas/ids/1", outages.current.path
    @clock.now += Registry::Outages::FORGET_SECONDS - 1
    refuse(outages, "/schemas/ids/#{max}")
    @clock.now += 1
    assert_equal "/schemas/ids/#{max}", outages.current.path
    @clock.now += Registry::Outages::FORGET_SECONDS
    assert_nil outages.current
  end

  # It is not asked before, and nobody waits for it.
  def test_retry_after
    seconds = "30"
    @server["/schemas/ids/3"] = ->(socket) { socket.write("HTTP/1.1 429 X\r\nRetry-After: #{seconds}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n") }
    registry = Registry.new(@server.url, retries: 5)
    error = assert_raises(Registry::Error) { registry.schema(3) }
    assert_equal [1, 429, true], [@server.requests.size, error.status, error.outage?]
    assert_in_delta 30, error.retry_after, 0.01
    again = assert_raises(Registry::Error) { registry.schema(1) }
    assert_equal [1, 429], [@server.requests.size, again.status]
    assert_match(/it is asked again in \d+ s/, again.message)
    ["9" * 9, (Time.now + 86_400).httpdate].each do |long|
      seconds = long
      assert_equal 60.0, assert_raises(Registry::Error) { Registry.new(@server.url, retries: 0).schema(3) }.retry_after
    end
    ["soon", "-5", "", (Time.now - 60).httpdate].each do |wrong|
      seconds = wrong
      assert_nil assert_raises(Registry::Error) { Registry.new(@server.url, retries: 0).schema(3) }.retry_after
    end
  end

  def test_the_next_server_is_asked_instead_of_one_that_wants_a_pause
    @server["/schemas/ids/1"] = ->(socket) { socket.write("HTTP/1.1 503 X\r\nRetry-After: 30\r\nContent-Length: 0\r\nConnection: close\r\n\r\n") }
    other = RegistryServer.new
    other.add(1, '"long"')
    assert_equal '"long"', Registry.new([@server.url, other.url], retries: 0).schema(1).schema
  ensure
    other&.close
  end

  private

  def outages = Registry::Outages.new(clock: @clock = Hand.new)

  def refuse(outages, path) = outages.failed(path, Registry::Error.new("forbidden", status: 403))
end
