# frozen_string_literal: true

# Tests that run side by side do not end in the order in which they began: with --verbose, their names are printed when they
# end.
module NamesAtTheEnd
  def prerecord(test, name)
    super unless test.run_order == :parallel
  end

  def record(result)
    io.print("#{result.klass}##{result.name} = ") if options[:verbose] && Object.const_get(result.klass).run_order == :parallel
    super
  end
end
Minitest::ProgressReporter.prepend(NamesAtTheEnd)
