# frozen_string_literal: true

# A Ruby warning whose text names a file of this project raises, so that a test fails. Those of other gems are left out.
module WarningsRaise
  ROOT = File.expand_path("../..", __dir__).freeze

  OTHERS = %r{\A(?:#{Regexp.union(Gem.path)}|#{Regexp.escape(ROOT)}/vendor/|The MultiJ|MultiJ)}

  def warn(message, category: nil, **)
    raise "Ruby warned: #{message}" if message.start_with?(ROOT) && !message.start_with?("#{ROOT}/vendor/")

    return if message.match?(OTHERS) && !ENV.key?("GUILDHALL_SHOW_WARNINGS")

    category ? super(message, category:) : super(message)
  end
end
Warning.extend(WarningsRaise)
$VERBOSE = true
Warning[:deprecated] = true
Warning[:experimental] = false
