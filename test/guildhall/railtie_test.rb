# frozen_string_literal: true

require "test_helper"
require "tmpdir"

# What ties the pool to Rails, with a stand-in for the gem railties.
class RailtieTest < GuildhallTest
  # On Ruby 3.4 the fork would raise PoolBusyError.
  SCRIPT = <<~'RUBY'
    require "rails/railtie"
    require "guildhall"
    module Upcase
      def self.call(text) = text.upcase
    end
    Guildhall.pool.map(%w[a], Upcase, parallel: true)
    child = fork { exit!(Guildhall.pool.map(%w[b], Upcase, parallel: true) == %w[B]) }
    abort("the child: #{$?}") unless Process.wait2(child).last.success?
    abort("the parent") unless Guildhall.pool.map(%w[c], Upcase, parallel: true) == %w[C]
    print Guildhall::Railtie.superclass
  RUBY

  def test_workers_end_before_a_fork
    Dir.mktmpdir do |folder|
      Dir.mkdir(File.join(folder, "rails"))
      File.write(File.join(folder, "rails/railtie.rb"), "module Rails\n  class Railtie\n  end\nend\n")
      assert_equal "Rails::Railtie", assert_ruby(SCRIPT, options: ["-I", folder])
    end
  end
end
