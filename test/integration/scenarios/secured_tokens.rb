# frozen_string_literal: true

# broker: real
#
# Proves that every client logs in with tokens of `config.oauth_token` (consumers, producer, transactions, dead letters, a schedule and the
# creation of its topic, lag, keys, each_message, administration, commands); that tokens of some seconds are renewed while all of them work;
# that an outage of the tokens' source, longer than a token lives, loses no message and is told when it begins, when the token has expired and
# when it is over; and that a source that fails from the beginning, or brings a token that the broker refuses, is an error that says so.
# It starts a broker of its own, where Kafka's libraries lie beside the script that KAFKA_BROKER_CONTROL names.
require "tempfile"
require_relative "../support/scenario"
require_relative "../../support/secured_broker"

APPLICATION = <<~'RUBY'
  class Idle < Guildhall::Kafka::Consumer
    def consume; end
  end
  Guildhall::Kafka.configure do |config|
    config.kafka = JSON.parse(ENV.fetch("SETTINGS"))
    config.group_id = ENV.fetch("GROUP")
    config.oauth_token = -> { ENV["TOKEN"] ? {token: ENV.fetch("TOKEN")} : raise("no token to be had") }
  end
  Guildhall::Kafka.routes do
    topic(ENV.fetch("TOPIC")) { consumer Idle }
    schedule { task(:tick, "* * * * * *") {} }
  end
RUBY
LIFE_SECONDS = 3
OUTAGE_SECONDS = 7

Scenario.run do
  reason = SecuredBroker.missing
  next notes << "skipped: #{reason}" if reason

  SecuredBroker.run do |broker|
    @servers = broker.address(:plain)
    names = %w[orders bad dead source target].to_h { |name| [name.to_sym, topic(name:)] }
    client(:admin) do |admin|
      {2 => "*", 3 => "*", 4 => "kafka-cluster", 5 => "*"}.each do |type, resource| # topic, group, cluster, transactional id
        admin.create_acl(resource_type: type, resource_name: resource, resource_pattern_type: 3, principal: "User:alice", host: "*",
          operation: 2, permission_type: 3).wait(max_wait_timeout_ms: 60_000) # all, allow
      end
    end

    settings = {"auto.offset.reset": "earliest", "reconnect.backoff.max.ms": 500, **broker.settings(:oauth)}
    failing = false
    calls = []
    source = lambda do |client|
      calls << client
      raise IOError, "the source of tokens is down" if failing

      {token: SecuredBroker.token("alice", LIFE_SECONDS), extensions: {logicalCluster: "lkc-1", purpose: "a test"}}
    end
    told = Thread::Queue.new
    ticks = Thread::Queue.new
    configure(librdkafka: settings, oauth_token: source, logger: (Logger.new($stderr) if ENV["VERBOSE"]))
    handles = accounting
    fails = Class.new(Guildhall::Kafka::Consumer) { def consume = raise("on purpose") }
    pipes = copying(names[:target])
    routes do
      topic(names[:orders]) { consumer handles }
      topic(names[:bad]) { consumer(fails) && dead_letter_queue(topic: names[:dead], max_retries: 0) }
      topic(names[:source]) { consumer(pipes) && transactional }
      schedule { task(:tick, "* * * * * *") { ticks << 1 } }
    end
    Guildhall::Kafka.instrumentation.subscribe("oauth_token.unavailable", "oauth_token.available") { |event| told << [event.name, event.payload] }
    start
    producer = Guildhall::Kafka.producer
    count = 0
    send_some = lambda do |seconds|
      limit = now + seconds
      while now < limit
        [names[:orders], names[:bad], names[:source]].map { |name| producer.produce_async(topic: name, payload: count.to_s) }.each(&:wait)
        count += 1
        sleep(0.02)
      end
    end

    send_some.call(LIFE_SECONDS * 2.5)
    renewed = calls.size
    check(renewed.between?(3, 6), "#{renewed} tokens in #{LIFE_SECONDS * 2.5} s, of #{LIFE_SECONDS} s each")
    equal([[broker.address(:oauth), "guildhall", nil]], calls.map { |client| client.to_h.values }.uniq, "who wants tokens")
    check(told.empty?, "without an outage: #{drain(told)}")

    failing = true
    sending = Thread.new { send_some.call(OUTAGE_SECONDS + 3) }
    sleep(OUTAGE_SECONDS)
    error = begin
      Guildhall::Kafka.application.lag
    rescue Guildhall::Kafka::KafkaError => error
      error
    end
    equal(Guildhall::Kafka::TokenError, error.class, "what a new client says during the outage")
    check(error.message.match?(/\Ano token for Kafka at #{broker.address(:oauth)}: config.oauth_token has raised IOError .*: the source of tokens is down/), error.message)
    failing = false
    sending.value
    names_told = -> { @seen = [*@seen, *drain(told)] }
    eventually("the outage is over") { names_told.call.any? { |name, _| name == "oauth_token.available" } }
    begun = @seen.filter_map { |name, payload| payload if name == "oauth_token.unavailable" }
    check(begun.first[:left].positive? && !begun.first[:reminder], "the first: #{begun}")
    check(begun.drop(1).any? { |one| one[:left].zero? && one[:reminder] }, "once it had expired: #{begun}")
    check(begun.size <= 4, "often: #{begun}")

    account.produced(0, count)
    eventually_complete
    read = []
    eventually("transactions") { (read = Guildhall::Kafka.application.each_message(names[:target]).map { |one| Integer(one.raw_payload) }).size >= count }
    equal((0...count).to_a, read, "what the transactions have sent")
    eventually("all dead letters") { Guildhall::Kafka.application.dead_letters(names[:dead]) { |dead| dead.ranges.values.sum(&:size) } == count }
    eventually("lag") { Guildhall::Kafka.application.lag.sum { |row| row.messages.to_i } <= 5 } # of its schedule, each run is a message
    equal([], Guildhall::Kafka.application.parked_keys.to_a, "parked keys")
    eventually("runs of the schedule") { ticks.size > 2 }
    equal([:tick], Guildhall::Kafka.application.scheduled_tasks.map { |status| status.task.name.to_sym }, "the schedule")

    file = Tempfile.create(["application", ".rb"]).tap { |one| one.write(APPLICATION) && one.close }
    environment = {"SETTINGS" => settings.to_json, "GROUP" => group, "TOPIC" => names[:orders], "TOKEN" => SecuredBroker.token("alice", 600)}
    [%w[lag], %w[keys], %w[check], %w[schedule list]].each do |words|
      out, err, status = guildhall(*words, "-r", file.path, env: environment)
      check(status.success? && out.lines.any?, "guildhall #{words.join(" ")}: #{out}#{err}")
      check(!(out + err).include?(environment["TOKEN"]), "#{words.join(" ")} shows the token")
    end
    out, err, status = guildhall("lag", "-r", file.path, env: {**environment, "TOKEN" => nil})
    check(!status.success? && err.include?("no token for Kafka at #{broker.address(:oauth)}") && err.include?("no token to be had"), "lag without a token: #{out}#{err}")
    refused = SecuredBroker.token("alice", 600, nbf: Time.now.to_f).sub(/\.\z/, ".signed")
    out, err, status = guildhall("lag", "-r", file.path, env: {**environment, "TOKEN" => refused})
    puts err if ENV["VERBOSE"]
    check(!status.success? && err.include?("check the token that config.oauth_token brings") && err.include?("refuses the credentials"),
      "lag with a token that the broker refuses: #{out}#{err}")
    check(!err.include?(refused), "the refused token is shown")

    drain(errors)
    stop
    eventually("the keeper's thread has ended") { Thread.list.none? { |thread| thread.name == "guildhall tokens" } }
    notes << "#{count} messages, #{calls.size} tokens"
  end
end
