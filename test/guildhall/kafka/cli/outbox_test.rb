# frozen_string_literal: true

require "test_helper"

# `guildhall outbox`, on SQLite.
class OutboxCommandTest < GuildhallTest
  PROGRAM = File.expand_path("../../../support/outbox_program.rb", __dir__)
  PRELUDE = <<~'RUBY'
    require "guildhall/cli"
    require "stringio"
    APPLICATION = File.join(FOLDER, "application.rb").tap { |file| File.write(file, "") }
    # What it prints, and its status.
    def guildhall(*arguments)
      out, err = StringIO.new, StringIO.new
      status = Guildhall::CLI.new(out:, err:).run(["outbox", *arguments, "-r", APPLICATION])
      [status, out.string, err.string]
    end
    Outbox.produce([{topic: "orders", key: "7", payload: "abc"}, {topic: "invoices", key: "\xFF", payload: "x"}])
    Message.update_all(created_at: Time.utc(2026, 11, 1))
  RUBY

  def test_status_list_and_retry
    assert_outbox(<<~'RUBY')
      status, out, err = guildhall("status")
      equal([0, true, true, ""], [status, out.start_with?("2 messages wait to be sent, the oldest for "), out.end_with?("\n0 messages were refused\n"), err])
      Message.update_all(parked: true, error: "too\nlarge")
      equal([0, "0 messages wait to be sent\n2 messages were refused (guildhall outbox list)\n", ""], guildhall("status"))
      equal([0, %({"messages":0,"seconds":0.0,"parked":2}\n), ""], guildhall("status", "--json"))
      status, out, = guildhall("list")
      equal([0, %w[ID TOPIC KEY WRITTEN ERROR], ["1", "orders", "7", "2026-11-01", "00:00:00", "too\\u{A}large"]], [status, *out.lines.first(2).map(&:split)])
      status, out, = guildhall("list", "--json")
      equal(%({"id":2,"topic":"invoices","key_base64":"/w==","bytes":1,"written":"2026-11-01T00:00:00Z","error":"too\\nlarge"}), out.lines.last.chomp)
      equal([0, "1 message is sent again\n", ""], guildhall("retry", "1"))
      equal([[1, false], [2, true]], Message.order(:id).pluck(:id, :parked))
      equal([0, "1 message is sent again\n", ""], guildhall("retry"))
    RUBY
  end

  def test_what_was_forgotten
    assert_outbox(<<~'RUBY')
      Guildhall::Kafka.config.outbox = false
      status, _, err = guildhall("status")
      equal([0, "guildhall: warning: #{Outbox::NOT_SENT}\n"], [status, err])
      Guildhall::Kafka.config.outbox = true
      ActiveRecord::Base.connection.drop_table(:guildhall_outbox_messages)
      %w[status list retry].each do |action|
        status, _, err = guildhall(action)
        equal([1, true, true], [status, err.start_with?("guildhall: the table guildhall_outbox_messages is missing"), err.include?("guildhall:outbox")])
      end
    RUBY
  end

  def test_wrong_usage
    assert_outbox(<<~'RUBY')
      {[] => "which command? One of status, list, retry", ["lst"] => "no command outbox lst; did you mean list?", ["list", "1"] => "unexpected argument: 1",
       ["retry", "a"] => "retry takes IDs as guildhall outbox list prints them, not a", ["retry", "--json"] => "--json is for outbox status and list only"}.each do |arguments, text|
        status, _, err = guildhall(*arguments)
        equal([2, true, err], [status, err.include?(text), err])
      end
    RUBY
  end

  private

  def assert_outbox(code) = assert_equal("", assert_ruby("load #{PROGRAM.dump}\n#{PRELUDE}\n#{code}", options: ["-W0"]))
end
