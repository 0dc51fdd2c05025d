# frozen_string_literal: true

# A relay whose database wakes it (PostgreSQL), or not (MariaDB), and cuts its connection.
require_relative "../../support/outbox_program"

def query(sql) = Outbox::Record.with_connection { |connection| connection.select_values(sql) }

def send_one(producer, text)
  before = producer.sent.size
  Outbox::Record.transaction { 2.times { |number| Outbox.produce_in_transaction(topic: "orders", key: "a", payload: "#{text} #{number}") } }
  eventually("#{text} sent") { producer.sent.size == before + 2 && Message.none? }
end

LISTENING = "SELECT pid FROM pg_stat_activity WHERE query = 'LISTEN guildhall_outbox' AND state = 'idle'"
if Outbox::Record.notifies? # nothing but the notification brings it to look again
  Outbox::Relay.send(:remove_const, :POLL_SECONDS)
  Outbox::Relay::POLL_SECONDS = 3600
end

producer = FakeProducer.new
one = relay(producer).start
eventually("listening") { query(LISTENING).any? } if Outbox::Record.notifies?
%w[first second third].each do |text|
  send_one(producer, text)
  eventually("listening") { query(LISTENING).any? } if Outbox::Record.notifies?
end

cut = Outbox::Record.notifies? ? "SELECT pg_terminate_backend(pid) FROM (#{LISTENING}) AS listening" : nil
if cut
  query(cut)
else
  others = query("SELECT id FROM information_schema.processlist WHERE id <> connection_id() AND command <> 'Daemon'")
  others.each { |id| Outbox::Record.with_connection { |connection| connection.execute("KILL CONNECTION #{id}") } }
end
eventually("another connection") { Outbox::Record.notifies? ? query(LISTENING).any? : true }
send_one(producer, "after")
equal(%w[first second third after].flat_map { |text| ["#{text} 0", "#{text} 1"] }, producer.sent.map { |message| message[:payload] })

one.stop(Guildhall::Clock.now + 60)
Outbox.produce(topic: "orders", payload: "wakes it")
equal(true, one.close(Guildhall::Clock.now + 60))

# The database's own words for a table that is missing are understood, in a transaction, too.
Outbox::Record.with_connection { |connection| connection.drop_table(:guildhall_outbox_messages) }
Message.reset_column_information
raised(Outbox::MissingTablesError) { Outbox.produce(topic: "orders", payload: "a") }
raised(Outbox::MissingTablesError) { Outbox::Record.transaction { Outbox.produce_in_transaction(topic: "orders", payload: "a") } }
raised(Outbox::MissingTablesError) { Message.explaining { Outbox::Record.connection.execute("SELECT * FROM guildhall_outbox_messages") } }
