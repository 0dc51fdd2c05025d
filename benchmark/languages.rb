# frozen_string_literal: true

# What would a team rewrite this consumer in? The same topic of the same broker, payloads of 0.5, 5 and 25 KB in which nothing repeats, five fields of
# each: Guildhall (Documents, Hashes), Karafka and racecar beside Java (kafka-clients, Jackson), Go (confluent's client, encoding/json), Node (kafkajs)
# and Python (confluent-kafka, orjson), as far as their toolchains are here; runs of about a minute, so that a JVM is warm. Lazy reading counts what
# was read: the five fields, and that the rest is valid JSON; it builds no object of what nobody asks for. KAFKA_LIBS names the folder with the jars of
# kafka-clients and Jackson (the `libs` of Apache Kafka has both); Go's modules and npm's packages are fetched once, into benchmark/languages/build.

require "etc"
require "fileutils"
require "guildhall"
require_relative "support/bench"
require_relative "support/measured_process"
require_relative "kafka/topics"
require_relative "data/corpus"

# As {Topics}, with orders in which no value comes again.
class FreshTopics < Topics
  private

  def prefix = "guildhall-bench-fresh"

  def payload(bytes, index)
    random = Random.new(index)
    word = -> { random.bytes(6).unpack1("H*") }
    order = ::JSON.parse(Orders.document(bytes, index))
    order["customer"] = {"name" => "#{word.call} #{word.call}", "email" => "#{word.call}@#{word.call}.example", "vip" => false}
    order["items"].each { |item| item.merge!("sku" => "SKU-#{random.rand(10**12)}", "title" => Array.new(3) { word.call }.join(" "), "tags" => [word.call, word.call]) }
    ::JSON.generate(order)
  end
end

# Finds the toolchains, builds what has to be built, and runs everybody in turn.
class Languages
  FOLDER = File.join(__dir__, "languages")
  BUILD = File.join(FOLDER, "build")
  SIZES = {"0.5 KB" => [500, 6_000_000, 2], "5 KB" => [5_000, 3_000_000, 4], "25 KB" => [25_000, 800_000, 6]}.freeze # bytes, messages, goal of Documents
  QUICK = 60 # times fewer
  TRIES = 2

  def initialize(bench, servers)
    @bench = bench
    @servers = servers
  end

  def run
    there = contenders
    SIZES.each { |size, (bytes, count, goal)| table(size, bytes, count, goal, there) if @bench.wanted?("languages.#{size}") }
  end

  private

  def table(size, bytes, count, goal, there)
    count = (@bench.quick? ? count / QUICK : count) / 5 * 5
    topic = FreshTopics.new(@servers).filled(bytes, count)
    rounds = Array.new(@bench.quick? ? 1 : TRIES) { |round| (round.odd? ? there.to_a.reverse : there.to_a).to_h { |name, way| [name, way.call(topic, count)] } }
    sums = rounds.flat_map { |round| round.values.map { |result| result["sum"] } }.uniq
    abort("languages: not the same was read: #{rounds}") unless sums.size == 1
    rates = there.keys.to_h { |name| [name, Bench.median(rounds.map { |round| round[name]["rate"] })] }
    rows(size, goal, rates, rounds.last)
  end

  def rows(size, goal, rates, results)
    others = rates.reject { |name, _| name.start_with?("Guildhall") }
    foreign = others.reject { |name, _| %w[Karafka racecar].include?(name) }
    rates.each_key do |name|
      result = results[name]
      note = format("%<rate>.0f a second, %<cpu>.1f s of CPU, %<peak>.0f MB", rate: rates[name], cpu: result["cpu_seconds"] || 0, peak: (result["peak_kb"] || 0) / 1024.0)
      @bench.row("languages.#{size}.#{name}", against: "Karafka", ratio: rates[name] / rates.fetch("Karafka"), note:)
    end
    best = foreign.max_by(&:last) or return
    {"Guildhall, Documents" => goal, "Guildhall, Hashes" => 1}.each do |name, wanted|
      @bench.row("languages.#{size}.#{name}, against the best", against: best.first, ratio: rates[name] / best.last, goal: wanted)
    end
  end

  # @return [Hash{String=>#call}] name => takes topic and count, returns the result
  def contenders
    ruby = [RbConfig.ruby, *("--yjit" if defined?(RubyVM::YJIT) && RubyVM::YJIT.enabled?)]
    kafka = File.join(__dir__, "kafka")
    {"Guildhall, Documents" => process(*ruby, File.join(kafka, "guildhall_consumer.rb"), last: ["document"]),
     "Guildhall, Hashes" => process(*ruby, File.join(kafka, "guildhall_consumer.rb"), last: ["hash"]),
     "Karafka" => process(*ruby, File.join(kafka, "karafka_consumer.rb"), last: ["hash"]), "racecar" => racecar(ruby),
     **java, **go, "Node, kafkajs" => node, "Python, orjson" => python}.compact
  end

  def process(*command, last: [], chdir: Dir.pwd, environment: {})
    limits = {"STOPWATCH_LIMIT" => "600", **environment}
    ->(topic, count) { Bench::MeasuredProcess.run(*command, @servers, topic, count.to_s, *last, environment: limits, chdir:) }
  end

  def racecar(ruby)
    require "racecar"
    process(*ruby, File.join(FOLDER, "racecar_consumer.rb"))
  rescue LoadError
    missing("racecar", "the gem is not in the bundle")
  end

  def java
    libraries = ENV.fetch("KAFKA_LIBS", "")
    return missing("Java", "no javac") || {} unless there?("javac")

    jars = Dir[File.join(libraries, "{kafka-clients,jackson-databind}-*.jar")]
    return missing("Java", "KAFKA_LIBS does not name a folder with kafka-clients and Jackson") || {} if jars.size < 2

    FileUtils.mkdir_p(BUILD)
    classes = "#{File.join(libraries, "*")}:#{BUILD}"
    system("javac", "-cp", classes, "-d", BUILD, File.join(FOLDER, "Consumer.java"), exception: true)
    %w[tree streaming].product([1, 2]).to_h do |mode, threads|
      ["Java, Jackson #{mode}, #{threads} thread#{"s" if threads > 1}", process("java", "-Xmx1g", "-cp", classes, "Consumer", last: [mode, threads.to_s])]
    end
  end

  def go
    return missing("Go", "no go") || {} unless there?("go")

    FileUtils.mkdir_p(BUILD)
    program = File.join(BUILD, "go_consumer")
    unless File.exist?(program) || go_module(program) || debian_go(program)
      return missing("Go", "confluent's client could not be built") || {}
    end

    %w[struct map].to_h { |mode| ["Go, #{mode}", process(program, last: [mode])] }
  end

  def go_module(program)
    folder = FileUtils.mkdir_p(File.join(BUILD, "go")).first
    FileUtils.cp(File.join(FOLDER, "consumer.go"), folder)
    quietly("go mod init bench", folder)
    quietly("go get github.com/confluentinc/confluent-kafka-go/v2@v2.1.1", folder) && quietly("go build -o #{program} consumer.go", folder)
  end

  # The older client of Debian's golang-github-confluentinc-confluent-kafka-go-dev.
  def debian_go(program)
    folder = FileUtils.mkdir_p(File.join(BUILD, "go_debian")).first
    source = File.read(File.join(FOLDER, "consumer.go")).sub("confluent-kafka-go/v2/kafka", "confluent-kafka-go/kafka")
    File.write(File.join(folder, "consumer.go"), source)
    quietly("go build -o #{program} consumer.go", folder, {"GO111MODULE" => "off", "GOPATH" => "/usr/share/gocode"})
  end

  def quietly(command, folder, environment = {}) = system(environment, command, chdir: folder, out: File::NULL, err: File::NULL)

  def node
    return missing("Node", "no node and npm") unless there?("node") && there?("npm")

    FileUtils.mkdir_p(BUILD)
    FileUtils.cp(File.join(FOLDER, "consumer.js"), BUILD)
    there = File.directory?(File.join(BUILD, "node_modules/kafkajs")) || system("npm", "install", "--silent", "kafkajs@2.2.4", chdir: BUILD, out: File::NULL, err: File::NULL)
    there ? process("node", File.join(BUILD, "consumer.js")) : missing("Node", "kafkajs could not be installed")
  end

  def python
    python = ["/usr/bin/python3", "python3"].find { |name| system(name, "-c", "import confluent_kafka, orjson", out: File::NULL, err: File::NULL) }
    python ? process(python, File.join(FOLDER, "consumer.py")) : missing("Python", "confluent-kafka and orjson are not installed")
  end

  def there?(program) = ENV["PATH"].to_s.split(":").any? { |folder| File.executable?(File.join(folder, program)) }

  def missing(name, reason)
    @bench.note("languages: without #{name}: #{reason}")
    nil
  end
end

servers = ENV.fetch("KAFKA_BOOTSTRAP_SERVERS", "")
abort("bin/bench languages: needs a real broker; KAFKA_BOOTSTRAP_SERVERS says where it is") if servers.empty?
Bench.script("languages") { |bench| Languages.new(bench, servers).run }
