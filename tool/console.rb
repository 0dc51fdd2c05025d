# frozen_string_literal: true

require "guildhall"
begin
  require "guildhall/kafka"
rescue Guildhall::Error => error
  warn(error.message)
end
require "irb"
IRB.start
