# frozen_string_literal: true

require "test_helper"
require "guildhall/kafka"
require "guildhall/kafka/commanding/keys"

class KafkaCommandSettingsTest < GuildhallTest
  Commanding = Guildhall::Kafka::Commanding

  def setup
    @private, @public = Commanding::Keys.generate
  end

  def problem(commands)
    config = Guildhall::Kafka::Config.new
    config.kafka = {"bootstrap.servers": "localhost:1"}
    config.commands = commands
    config.validate!
    nil
  rescue Guildhall::ConfigurationError => error
    error.message.lines.drop(1).join
  end

  def test_what_is_allowed
    [nil, {public_key: @public}, {public_key: @public, allow: [], topic: "a.b"}, {insecure: true, allow: Commanding::ACTIONS}].each { |given| assert_nil problem(given) }
    settings = Commanding::Settings.of({public_key: @public})
    assert_equal [%i[pause resume retry seek quiet trace], "guildhall.commands", false], [settings.allow, settings.topic, settings.key.nil?]
    assert_nil Commanding::Settings.of({insecure: true}).key
  end

  # A variable that is not set is the usual mistake: commands without signatures must not follow from it.
  def test_without_a_key_it_does_not_start
    [{}, {public_key: nil}, {insecure: false}].each do |given|
      assert_match(/commands needs a public_key, as in {public_key: ENV\["GUILDHALL_COMMANDS_KEY"\]}.*guildhall command keys.*insecure: true/, problem(given))
    end
    assert_match(/exclude each other/, problem({insecure: true, public_key: @public}))
  end

  def test_mistakes
    {"x" => /must be a Hash, such as/, {public_key: ""} => /public_key is missing/, {public_key: @private} => /is the private key/,
     {public_key: @public, allow: %i[paus]} => /unknown action :paus; did you mean pause\?/, {public_key: @public, allow: :pause} => /allow must be an Array/,
     {public_key: @public, topic: "a b"} => /topic must be the name of a topic/, {publickey: @public} => /did you mean public_key\?/,
     {public_key: @public, insecure: 1} => /insecure must be true or false/}.each { |given, message| assert_match message, problem(given) }
    refute_includes problem({public_key: @private}), @private[10, 20]
    refute_includes problem(@private), @private[10, 20]
  end

  def test_where_they_come_from
    config = Guildhall::Kafka::Config.new
    assert_nil config.commands_topic
    assert_equal "guildhall.reports", config.reports_topic
    config.commands = {insecure: true}
    assert_equal "guildhall.commands", config.commands_topic
    config.commands = {insecure: true, topic: "orders.commands"}
    config.reports = {topic: "orders.reports"}
    assert_equal %w[orders.commands orders.reports], [config.commands_topic, config.reports_topic]
  end
end
