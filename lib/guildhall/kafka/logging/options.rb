# frozen_string_literal: true

module Guildhall
  module Kafka
    module Logging
      FORMATS = %w[text json].freeze
      LEVELS = %w[debug info warn error fatal].freeze
    end
  end
end
