# frozen_string_literal: true

require "test_helper"

# docs/api.md has what a program can reach and what is not private, and nothing that is not there.
class ApiTest < GuildhallTest
  SCRIPT = <<~'RUBY'
    require "./tool/public_api"
    api = PublicAPI.new
    puts api.undecided
    puts "docs/api.md is not as the code is: bin/rake api" unless api.page == File.read(PublicAPI::PAGE)
    (Dir["docs/*.md"] + Dir["README*.md"] - PublicAPI::ABOUT_THE_CODE).each do |path|
      puts api.private_names(File.read(path)).map { |name| "#{path} names #{name}, which is private" }
    end
    puts "--"
    module Guildhall # as a new file would have them
      class Forgotten; ANY = 1; end
      class Queue; FORGOTTEN = 1; end
    end
    puts PublicAPI.new.undecided
  RUBY
  FORGOTTEN = %w[Guildhall::Forgotten Guildhall::Forgotten::ANY Guildhall::Queue::FORGOTTEN].freeze

  def test_the_page_is_as_the_code_and_what_nobody_has_decided_is_found
    problems, found = assert_ruby(SCRIPT, timeout: 600).split("--\n")
    assert_empty problems, problems
    assert_equal FORGOTTEN, found.lines.map { |line| line[/\S+/] }.sort
  end
end
