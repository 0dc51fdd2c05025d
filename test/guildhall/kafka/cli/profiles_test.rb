# frozen_string_literal: true

require "test_helper"
require "tmpdir"
require "guildhall/kafka"
require "guildhall/kafka/cli/profiles"

class ProfilesTest < GuildhallTest
  TEXT = <<~YAML
    staging:
      bootstrap.servers: kafka.example:9093
      sasl.password: ${STAGING_PASSWORD}
      enable.ssl.certificate.verification: false
    local:
      bootstrap.servers: 127.0.0.1:9092
  YAML

  def test_settings_of_a_profile
    with_profiles(TEXT, "STAGING_PASSWORD" => "$a${b}") do |profiles|
      assert_equal %w[staging local], profiles.names
      assert_equal({"bootstrap.servers": "kafka.example:9093", "sasl.password": "$a${b}", "enable.ssl.certificate.verification": false},
        profiles.fetch("staging"))
    end
  end

  def test_a_profile_that_is_missing
    with_profiles(TEXT) do |profiles|
      assert_match(/there is no profile stagin in .*profiles.yml; did you mean staging\?/, error { profiles.fetch("stagin") })
      assert_match(/needs the environment variable STAGING_PASSWORD\z/, error { profiles.fetch("staging") })
    end
    assert_empty guildhall_profiles("XDG_CONFIG_HOME" => "/nowhere").names
    assert_equal "/home/ann/.config/guildhall/profiles.yml", guildhall_profiles("HOME" => "/home/ann").path
  end

  def test_files_that_are_none_of_profiles
    ["- a", "a: b", "a: [", "a: !ruby/object:Object {}"].each do |text|
      with_profiles(text) { |profiles| assert_match(/profiles.yml (must have|cannot be read)/, error { profiles.names }) }
    end
    with_profiles("") { |profiles| assert_empty profiles.names }
  end

  private

  def error(&) = assert_raises(Guildhall::ArgumentError, &).message
  def guildhall_profiles(env) = Guildhall::Kafka::CLI::Profiles.new(env)

  def with_profiles(text, env = {})
    Dir.mktmpdir do |folder|
      path = File.join(folder, "profiles.yml")
      File.write(path, text)
      yield guildhall_profiles({"GUILDHALL_PROFILES" => path, **env})
    end
  end
end
