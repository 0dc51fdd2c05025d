# frozen_string_literal: true

# A Ruby warning whose text names a file of this project raises, so that a test fails.
module WarningsRaise
  ROOT = File.expand_path("../..", __dir__).freeze

  def warn(message, category: nil, **)
    raise "Ruby warned: #{message}" if message.start_with?(ROOT) && !message.start_with?("#{ROOT}/vendor/")

    category ? super(message, category:) : super(message)
  end
end
Warning.extend(WarningsRaise)
$VERBOSE = true
Warning[:deprecated] = true
Warning[:experimental] = false
