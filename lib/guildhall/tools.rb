# frozen_string_literal: true

require "guildhall" # of another gem, as all that is not of this one: not by relative path

# The tools of the gem guildhall-tools, for development. Each is loaded when it is first named.
module Guildhall
  autoload :Doctor, File.expand_path("doctor.rb", __dir__)
  autoload :LeakCheck, File.expand_path("leak_check.rb", __dir__)
  autoload :LeakError, File.expand_path("leak_check.rb", __dir__)
  autoload :Advisor, File.expand_path("advisor.rb", __dir__)
  autoload :Chart, File.expand_path("chart.rb", __dir__)
end
