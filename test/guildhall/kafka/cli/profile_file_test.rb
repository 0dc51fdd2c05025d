# frozen_string_literal: true

require "test_helper"
require "tmpdir"
require "guildhall/kafka"
require "guildhall/kafka/cli/profile_file"

class ProfileFileTest < GuildhallTest
  COMMAND = File.expand_path("../../../../exe/guildhall", __dir__)
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

  # Only the brokers are shown: anything else may be secret.
  def test_the_command
    with_profiles(TEXT, "STAGING_PASSWORD" => "hidden") { |profiles| assert_equal "kafka.example:9093", profiles.servers("staging") }
    with_file("#{TEXT}none: {}") do |path|
      out, err, status = run_command([RbConfig.ruby, COMMAND, "profiles"], env: {"GUILDHALL_PROFILES" => path, "GUILDHALL_PROFILE" => "local"})
      assert_equal [0, "from #{path}\n"], [status.exitstatus, err]
      assert_equal ["PROFILE  BROKERS             DEFAULT", "staging  kafka.example:9093  -", "local    127.0.0.1:9092      yes", "none     -                   -"], out.lines(chomp: true)
    end
  end

  def test_a_file_that_cannot_be_read
    profiles = Guildhall::Kafka::CLI::ProfileFile.new({"GUILDHALL_PROFILES" => Dir.tmpdir})
    assert_equal "#{Dir.tmpdir} cannot be read: Is a directory", error { profiles.names }
    with_profiles("local: {1: hush}") { |some| assert_match(/must have names of profiles/, error { some.fetch("local") }) }
  end

  def test_a_profile_that_is_missing
    with_profiles(TEXT) do |profiles|
      assert_match(/there is no profile stagin in .*profiles.yml; did you mean staging\?; it has staging, local\z/, error { profiles.fetch("stagin") })
      assert_match(/needs the environment variable STAGING_PASSWORD\z/, error { profiles.fetch("staging") })
    end
    assert_empty guildhall_profiles("XDG_CONFIG_HOME" => "/nowhere").names
    assert_equal "/home/ann/.config/guildhall/profiles.yml", guildhall_profiles("HOME" => "/home/ann").path
  end

  # Else the current folder, which may be anybody's, would say which brokers get the password.
  def test_without_a_home_there_is_no_place_for_profiles
    [{}, {"HOME" => ""}, {"HOME" => "here", "XDG_CONFIG_HOME" => "there"}].each do |env|
      profiles = guildhall_profiles(env)
      assert_equal "$HOME/.config/guildhall/profiles.yml", profiles.path
      %i[names fetch].zip([[], ["staging"]]).each do |name, arguments|
        assert_equal "there is no place for profiles: set HOME, or GUILDHALL_PROFILES to the file", error { profiles.public_send(name, *arguments) }
      end
    end
  end

  def test_files_that_are_none_of_profiles
    ["- a", "a: b", "a: [", "a: !ruby/object:Object {}"].each do |text|
      with_profiles(text) { |profiles| assert_match(/profiles.yml (must have|cannot be read)/, error { profiles.names }) }
    end
    with_profiles("") { |profiles| assert_empty profiles.names }
  end

  private

  def error(&) = assert_raises(Guildhall::ArgumentError, &).message
  def guildhall_profiles(env) = Guildhall::Kafka::CLI::ProfileFile.new(env)

  def with_profiles(text, env = {})
    with_file(text) { |path| yield guildhall_profiles({"GUILDHALL_PROFILES" => path, **env}) }
  end

  def with_file(text)
    Dir.mktmpdir do |folder|
      path = File.join(folder, "profiles.yml")
      File.write(path, text)
      yield path
    end
  end
end
