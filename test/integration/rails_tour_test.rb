# frozen_string_literal: true

require "test_helper"
require "support/installed_gems"
require_relative "rails/application"

# What a developer does with a generated application, from `rails new` to a stop: see rails/tour.rb. The newest Rails with both gems built and
# installed, on a real broker where KAFKA_BOOTSTRAP_SERVERS names one; the oldest one with the checkout, on the embedded broker; RAILS_VERSIONS
# names others ("7.2,8.0,8.1").
class RailsTourTest < GuildhallTest
  def self.apart? = true

  TOUR = File.expand_path("rails/tour.rb", __dir__)
  LIMIT = 900 # seconds; the first time gems are installed
  NEWEST, *, OLDEST = GeneratedApplication::VERSIONS.keys
  VERSIONS = ENV.fetch("RAILS_VERSIONS", [OLDEST, NEWEST].join(",")).split(",")

  VERSIONS.each do |version|
    define_method(:"test_rails_#{version.tr(".", "_")}") do
      newest = version == NEWEST
      env = {"KAFKA_BOOTSTRAP_SERVERS" => newest ? ENV.fetch("KAFKA_BOOTSTRAP_SERVERS", "") : "",
             "BUILT_GEMS" => (InstalledGems.home if newest)}
      out, err, status = run_command([RbConfig.ruby, TOUR, version], timeout: LIMIT, env:)
      assert_predicate status, :success?, "#{out}\n#{err}"
      puts out if ENV["CI"]
    end
  end
end
