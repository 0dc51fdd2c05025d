# frozen_string_literal: true

# With Guildhall loaded: runs the FILE that it is called with, else opens IRB.
if %w[-h --help].include?(ARGV.first)
  puts "usage: bin/console [FILE [ARGUMENT…]]",
    "Runs FILE with this checkout's Guildhall loaded, such as exe/guildhall; without FILE, opens IRB."
  exit
end
require "guildhall"
begin
  require "guildhall/kafka"
rescue Guildhall::Error => error
  warn(error.message)
end
if ARGV.first && !ARGV.first.start_with?("-")
  load $PROGRAM_NAME = File.expand_path(ARGV.shift)
else
  require "irb"
  IRB.start
end
