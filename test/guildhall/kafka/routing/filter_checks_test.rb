# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"

class KafkaFilterChecksTest < GuildhallTest
  class Handles < Guildhall::Kafka::Consumer
    def consume; end
  end

  class Good
    def initialize(limit:, per: 1) = @limits = [limit, per]
    def call(messages); end
  end

  class Odd
    def initialize(limit) = @limit = limit
    def call; end
  end

  def setup
    @application = Guildhall::Kafka::Application.new
    @application.config.kafka = {"bootstrap.servers": "localhost:1"}
  end

  def test_good_filters_are_listed_in_their_order
    @application.routes.draw do
      topic("a") do
        consumer Handles
        expire 86_400 * 4
        delay 86_400 * 3
        throttle limit: 100, per: 60
        sample 0.01
        deduplicate by: :key
        deduplicate by: ->(message) { message.headers["id"] }, window: 5
        filter Good, limit: 3
        filter { |messages| messages.reject!(&:tombstone?) }
        filter Good.new(limit: 1)
      end
    end
    names = %w[expire delay throttle sample deduplicate deduplicate KafkaFilterChecksTest::Good block KafkaFilterChecksTest::Good]
    assert_equal names, @application.validate!.first.filters.map(&:name)
    assert_match(/filters: expire, delay, throttle/, @application.routes.to_s)
    assert_equal names, @application.validate!.first.summary["filters"]
  end

  def test_what_is_wrong_is_reported_with_the_topic
    @application.routes.draw do
      topic("a") do
        consumer Handles
        throttle limit: 0, per: -1, interval: 5
        delay "5"
        expire 0
        sample 2
        deduplicate by: :kye, window: nil
        deduplicate
        throttling limit: 3
      end
    end
    assert_errors("throttle: unknown keyword interval", "throttle limit must be an Integer ≥ 1, not 0", "throttle per must be a finite number > 0 (seconds), not -1",
      'delay seconds must be a finite number > 0 (seconds), not "5"', "expire seconds must be", "sample rate must be a rate above 0 and up to 1",
      "deduplicate window must be an Integer ≥ 1, not nil", "deduplicate by must be a method of a message (:key) or a callable, not :kye",
      "a callable, not nil", "unknown setting throttling; did you mean throttle?")
  end

  def test_filters_that_together_let_nothing_through_are_errors
    @application.routes.draw do
      topic("a") { consumer(Handles) && delay(300) && expire(60) }
      topic("b") { consumer(Handles) && expire(300) && delay(300) }
      topic("c") { consumer(Handles) && expire(301) && delay(300) }
    end
    assert_errors('topic "a": expire 60 lets nothing through that delay 300 has made wait', 'topic "b": expire 300 lets nothing')
  end

  def test_filters_that_would_raise_for_every_batch_are_errors
    @application.routes.draw do
      topic("a") do
        consumer Handles
        filter Odd
        filter Good, limt: 3
        filter String
        filter 5
        filter
        filter ->(a, b) { [a, b] }, limit: 3
      end
    end
    assert_errors("Odd: call is called with 1 argument, and takes 0", "Odd: initialize must take keywords only", "missing keyword limit",
      "unknown keyword limt of filter KafkaFilterChecksTest::Good; did you mean limit?", "filter String has no method call", "filter 5 has no method call", "filter needs a class, an object with call, or a block",
      "takes no keywords: only a class does", "filter is called with 1 argument, and takes 2")
  end

  def test_arguments_of_settings_that_do_not_fit_are_listed
    @application.routes.draw { topic("a") { consumer(Handles) && delay } }
    assert_errors('topic "a": delay: wrong number of arguments')
  end

  private

  def assert_errors(*texts)
    message = assert_raises(Guildhall::ConfigurationError) { @application.validate! }.message
    texts.each { |text| assert_includes message, text }
    assert_equal texts.size, message.scan(/^  - /).size, message
  end
end
