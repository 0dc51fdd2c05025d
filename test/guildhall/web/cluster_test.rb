# frozen_string_literal: true

require "test_helper"
require "guildhall/web"

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

  def test_they_are_asked_again
    assert_raises(Guildhall::Kafka::UnreachableError) { @cluster.topics }
    @admin.define_singleton_method(:list) { [:topic] }
    @cluster.instance_variable_get(:@answers).transform_values! { |answer, at| [answer, at - Guildhall::Web::FRESH_SECONDS - 1] }
    assert_equal [:topic], @cluster.topics
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
