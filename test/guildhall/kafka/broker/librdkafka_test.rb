# frozen_string_literal: true

require "test_helper"
require "tmpdir"

class LibrdkafkaTest < GuildhallTest
  # racecar needs the gem rdkafka, which has the files and constants of karafka-rdkafka: whichever is first in the load path is loaded.
  def test_the_other_rdkafka_is_refused
    Dir.mktmpdir do |folder|
      File.write(File.join(folder, "rdkafka.rb"), "module Rdkafka; class Producer; end; end")
      _, err, status = run_command([RbConfig.ruby, "-I#{folder}", "-e", "require 'guildhall/kafka'"])
      assert_equal [1, true], [status.exitstatus, err.include?("(Guildhall::MissingDependencyError)")], err
      assert_match(/the gem rdkafka is loaded in the place of karafka-rdkafka.*Gemfile/, err)
    end
  end
end
