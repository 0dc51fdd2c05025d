# frozen_string_literal: true

require "test_helper"
require "guildhall/web"
require "guildhall/kafka/testing"
require "support/recorded_reports"

# Questions to the brokers, of several threads.
class WebClusterTest < GuildhallTest
  def setup
    @admin = Admin.new
    admin = @admin
    @application = Guildhall::Kafka::Application.new
    @application.define_singleton_method(:admin) { admin }
    @cluster = Guildhall::Web::Cluster.new(@application)
  end

  # One whose brokers do not answer.
  class Admin
    attr_reader :asked, :closed

    def topics = self
    def groups = self

    def list
      @asked = @asked.to_i + 1
      raise Guildhall::Kafka::UnreachableError.new(-195, "_TRANSPORT", "no answer")
    end

    def close = @closed = true
  end

  def test_brokers_that_do_not_answer_are_not_waited_for_by_each_request
    2.times { %i[topics groups].each { |question| assert_raises(Guildhall::Kafka::UnreachableError) { @cluster.public_send(question) } } }
    assert_equal 1, @admin.asked
  end

  def test_the_embedded_broker_of_development_is_not_asked
    require "guildhall/kafka/development"
    @application.config.kafka = {"bootstrap.servers": Guildhall::Kafka::Development::Address.new("127.0.0.1:1", nil)}
    web = Guildhall::Web.new(application: @application, authorize: ->(*) { true })
    web.instance_variable_set(:@cluster, @cluster)
    %w[/topics /groups /].each do |path|
      status, _, body = web.call({"PATH_INFO" => path, "REQUEST_METHOD" => "GET", "SCRIPT_NAME" => "", "QUERY_STRING" => ""})
      assert_equal 503, status
      assert_includes body.join, "start a broker (docker compose -f compose.kafka.yaml up -d kafka) and set KAFKA_BOOTSTRAP_SERVERS"
    end
    assert_nil @admin.asked
  end

  # What processes had reported is not taken for a loss of all of them.
  def test_while_brokers_do_not_answer_reports_are_those_of_then
    recorded = RecordedReports.new.tap { |reports| reports.state("web:7:a", {%w[shop orders] => [RecordedReports.row(:working, 0)]}, ago: 300) }
    view = recorded.view
    @cluster.instance_variable_get(:@reports).define_singleton_method(:view) { |**| view }
    assert_equal [1, 0, 0.0], [@cluster.reports.lost.size, @cluster.reports.live.size, @cluster.reports.stale]
    assert_raises(Guildhall::Kafka::UnreachableError) { @cluster.topics }
    assert_equal [[], ["web:7:a"], [300, 300]], [@cluster.reports.lost, @cluster.reports.live.map(&:name), [@cluster.reports.stale, @cluster.reports.age].map(&:round)]
    recorded.state("web:7:a", ago: 5)
    view = recorded.view
    assert_equal 0.0, @cluster.reports.stale
    @admin.define_singleton_method(:list) { [] }
    @cluster.forget
    @cluster.topics
    assert_equal 0.0, @cluster.reports.stale
  end

  def test_they_are_asked_again
    assert_raises(Guildhall::Kafka::UnreachableError) { @cluster.topics }
    @admin.define_singleton_method(:list) { [:topic] }
    silence = @cluster.instance_variable_get(:@silence)
    silence[1] -= Guildhall::Web::FRESH_SECONDS + 1
    assert_raises(Guildhall::Kafka::UnreachableError) { @cluster.topics }
    silence[1] -= 10
    assert_equal [:topic], @cluster.topics
  end

  def test_after_something_was_done_they_are_asked_anew
    answers = [[:before], [:after]]
    @admin.define_singleton_method(:list) { answers.shift }
    2.times { assert_equal [:before], @cluster.topics }
    @cluster.forget
    assert_equal [:after], @cluster.topics
  end

  # As a server does, which has no place for closing it. The embedded broker does not know the request.
  def test_a_request_that_nobody_answers_does_not_keep_a_process_from_ending
    Guildhall::Kafka::Testing::EmbeddedBroker.start do |broker|
      broker.create_topic("t")
      assert_ruby(<<~RUBY)
        require "guildhall/web"
        application = Guildhall::Kafka::Application.new
        application.config.kafka = {"bootstrap.servers": #{broker.bootstrap_servers.dump}}
        application.config.logger = nil
        web = Guildhall::Web.new(application:, authorize: ->(*) { true })
        status, = web.call({"PATH_INFO" => "/topics", "REQUEST_METHOD" => "GET", "SCRIPT_NAME" => "", "QUERY_STRING" => ""})
        abort(status.to_s) unless status == 503
      RUBY
    end
  end

  def test_clients_of_an_application_that_is_replaced_are_closed
    web = Guildhall::Web.new(authorize: ->(*) { true })
    web.instance_variable_set(:@cluster, @cluster)
    assert_raises(Guildhall::Kafka::UnreachableError) { @cluster.topics }
    refute_same @cluster, web.cluster
    assert @admin.closed
  end

  def test_clients_of_the_process_before_a_fork_are_left_alone
    assert_raises(Guildhall::Kafka::UnreachableError) { @cluster.topics }
    @cluster.instance_variable_set(:@process, -1)
    @cluster.close
    refute @admin.closed
  end
end
