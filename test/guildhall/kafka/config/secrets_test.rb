# frozen_string_literal: true

require "pp"
require "test_helper"
require "guildhall/kafka"

class KafkaConfigSecretsTest < GuildhallTest
  Config = Guildhall::Kafka::Config
  MARK = "MARKED-SECRET"
  SECRETS = {
    "sasl.password": MARK, "ssl.key.password": MARK, "ssl.key.pem": "-----BEGIN PRIVATE KEY-----\n#{MARK}\n-----END PRIVATE KEY-----\n",
    "ssl.keystore.password": MARK, "sasl.oauthbearer.client.secret": MARK, "sasl.oauthbearer.config": "token=#{MARK}",
    "sasl.oauthbearer.token.endpoint.url": "https://user:#{MARK}@127.0.0.1/token"
  }.freeze
  private_constant :Config, :MARK, :SECRETS

  def test_what_is_secret_is_not_shown_where_settings_are_printed
    settings = Config::Secrets.hide({**SECRETS, "bootstrap.servers": "a:1", "ssl.key.location": "/etc/key.pem", "linger.ms": 5})
    hidden, shown = settings.partition { |_, value| value.inspect == "[hidden]" }.map(&:to_h)
    assert_equal SECRETS.keys, hidden.keys
    assert_equal({"bootstrap.servers": "a:1", "ssl.key.location": "/etc/key.pem", "linger.ms": 5}, shown)
    assert_equal SECRETS.values, hidden.values.map(&:to_s)
    refute_includes settings.inspect + settings.pretty_inspect, MARK
    assert_equal settings, Config::Secrets.hide(settings)
  end

  def test_a_secret_is_found_in_a_text_whatever_its_encoding_is
    ["größe", "größe".b, (+"größe").force_encoding("US-ASCII")].each do |secret|
      assert_equal "é [hidden]", Config::Secrets.without("é größe", "sasl.password", secret)
    end
  end

  # Each way to get a setting wrong, by each secret: in `config.kafka`, `config.producer` and a topic's own.
  def test_no_error_of_the_configuration_has_a_secret
    wrong = SECRETS.keys.flat_map { |name| [{name => [SECRETS[name]]}, {name => {it: SECRETS[name]}}, {name.to_s => SECRETS[name].to_sym}] }
    wrong << SECRETS.to_h { |name, value| [:"#{name}x", value] } << {"security.protocol": "ssl", **SECRETS} <<
      {"security.protocol": "sasl_ssl", "sasl.mechanism": "OAUTHBEARER", "sasl.oauthbearer.method": "oidc", **SECRETS}
    [*wrong, SECRETS.to_a, SECRETS.map { |pair| pair.join("=") }.join("\n"), MARK.to_sym].each do |settings|
      text = problems { |application| application.config.kafka = settings }
      text += problems { |application| application.config.producer = settings }
      text += problems { |application| application.routes.draw { topic("orders") { consumer(Consumer) && kafka(settings) } } }
      refute_empty text, settings.class
      refute_includes text, MARK
    end
  end

  def test_an_error_says_what_kind_of_value_there_was
    assert_includes problems { |application| application.config.kafka = {"sasl.password": [MARK]} },
      "kafka: sasl.password takes one String, with commas, not an Array"
    assert_includes problems { |application| application.config.kafka = "sasl.password=#{MARK}" },
      "kafka must be a Hash of librdkafka settings, not a String"
  end

  class Consumer < Guildhall::Kafka::Consumer
    def consume; end
  end
  private_constant :Consumer

  private

  def problems
    application = Guildhall::Kafka::Application.new
    application.config.kafka = {"bootstrap.servers": "127.0.0.1:1"}
    application.routes.draw { topic("others") { consumer Consumer } }
    yield application
    application.validate!
    ""
  rescue Guildhall::Error => error
    error.full_message(highlight: false)
  end
end
