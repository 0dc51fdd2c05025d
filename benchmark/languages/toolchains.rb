# frozen_string_literal: true

require "fileutils"
require "rbconfig"
require_relative "../support/own_bundle"

# Who reads the topic: each language whose toolchain is here, its program built. What is fetched and built goes to build/languages.
class Toolchains
  FOLDER = __dir__
  BUILD = File.expand_path("../../build/languages", __dir__)
  KAFKA = File.expand_path("../kafka", __dir__)
  RACECAR = "2.12.0"
  KAFKAJS = "2.2.4"
  GO_CLIENT = "github.com/confluentinc/confluent-kafka-go/v2@v2.1.1" # the last one for Go 1.19
  LIMIT_SECONDS = "600" # of one run

  # @return [Array<String>] who is not among the contenders, and why
  attr_reader :missing

  # @param servers [String]
  def initialize(servers)
    @servers = servers
    @missing = []
    @ruby = [RbConfig.ruby, *("--yjit" if defined?(RubyVM::YJIT) && RubyVM::YJIT.enabled?)]
    FileUtils.mkdir_p(BUILD)
  end

  # Blocks while programs are built.
  # @return [Hash{String=>#call}] name => takes topic and count, returns the result
  def contenders = {**rubies, **racecar, **java, **go, **node, **python}

  private

  def rubies
    {"Guildhall, columns" => process(*@ruby, File.join(KAFKA, "guildhall_consumer.rb"), last: ["columns"]),
     "Guildhall, Documents" => process(*@ruby, File.join(KAFKA, "guildhall_consumer.rb"), last: ["document"]),
     "Guildhall, Hashes" => process(*@ruby, File.join(KAFKA, "guildhall_consumer.rb"), last: ["hash"]),
     "Karafka" => process(*@ruby, File.join(KAFKA, "karafka_consumer.rb"), last: ["hash"])}
  end

  # Its rdkafka and Karafka's define the same constants: it has a bundle of its own.
  def racecar
    bundle = OwnBundle.new("racecar", {"racecar" => RACECAR})
    return without("racecar", "the gem could not be installed") unless bundle.install

    {"racecar" => process(*@ruby, File.join(FOLDER, "racecar_consumer.rb"), environment: bundle.environment)}
  end

  def java
    libraries = ENV.fetch("KAFKA_LIBS", "")
    return without("Java", "no javac") unless there?("javac")

    jars = Dir[File.join(libraries, "{kafka-clients,jackson-databind}-*.jar")]
    return without("Java", "KAFKA_LIBS does not name a folder with kafka-clients and Jackson") if jars.size < 2

    classes = "#{File.join(libraries, "*")}:#{BUILD}"
    return without("Java", "Consumer.java could not be compiled") unless
      quietly("javac", "-cp", classes, "-d", BUILD, File.join(FOLDER, "Consumer.java"))

    %w[tree streaming].product([1, 2]).to_h do |mode, threads|
      ["Java, Jackson #{mode}, #{threads} thread#{"s" if threads > 1}", process("java", "-Xmx1g", "-cp", classes, "Consumer", last: [mode, threads.to_s])]
    end
  end

  def go
    return without("Go", "no go") unless there?("go")

    program = File.join(BUILD, "go_consumer")
    return without("Go", "confluent's client could not be built") unless File.exist?(program) || go_module(program) || debian_go(program)

    %w[struct map].to_h { |mode| ["Go, #{mode}", process(program, last: [mode])] }
  end

  def go_module(program)
    folder = FileUtils.mkdir_p(File.join(BUILD, "go")).first
    FileUtils.cp(File.join(FOLDER, "consumer.go"), folder)
    (File.exist?(File.join(folder, "go.mod")) || quietly("go", "mod", "init", "bench", folder:)) &&
      quietly("go", "get", GO_CLIENT, folder:) && quietly("go", "build", "-o", program, "consumer.go", folder:)
  end

  # The older client of Debian's golang-github-confluentinc-confluent-kafka-go-dev.
  def debian_go(program)
    folder = FileUtils.mkdir_p(File.join(BUILD, "go_debian")).first
    source = File.read(File.join(FOLDER, "consumer.go")).sub("confluent-kafka-go/v2/kafka", "confluent-kafka-go/kafka")
    File.write(File.join(folder, "consumer.go"), source)
    quietly("go", "build", "-o", program, "consumer.go", folder:, environment: {"GO111MODULE" => "off", "GOPATH" => "/usr/share/gocode"})
  end

  def node
    return without("Node", "no node and npm") unless there?("node") && there?("npm")

    FileUtils.cp(File.join(FOLDER, "consumer.js"), BUILD)
    there = File.directory?(File.join(BUILD, "node_modules/kafkajs")) || quietly("npm", "install", "--silent", "kafkajs@#{KAFKAJS}", folder: BUILD)
    there ? {"Node, kafkajs" => process("node", File.join(BUILD, "consumer.js"))} : without("Node", "kafkajs could not be installed")
  end

  # Without orjson, which not every distribution has, with the next best parser; the contender's name says with which.
  def python
    found = %w[orjson ujson json].product(["python3", "/usr/bin/python3"]).find do |parser, python|
      quietly(python, "-c", "import confluent_kafka, #{parser}")
    end
    parser, python = found || (return without("Python", "no confluent-kafka (pip install confluent-kafka orjson; Debian: python3-confluent-kafka)"))
    {"Python, #{parser}" => process(python, File.join(FOLDER, "consumer.py"), last: [parser])}
  end

  def process(*command, last: [], environment: {})
    limits = {"STOPWATCH_LIMIT" => LIMIT_SECONDS, **environment}
    ->(topic, count) { Bench::MeasuredProcess.run(*command, @servers, topic, count.to_s, *last, environment: limits) }
  end

  def there?(program) = ENV["PATH"].to_s.split(":").any? { |folder| File.executable?(File.join(folder, program)) }

  # @return [Boolean] whether it succeeded
  def quietly(*command, folder: BUILD, environment: {})
    system(environment, *command, chdir: folder, in: File::NULL, out: File::NULL, err: File::NULL) || false
  end

  def without(name, reason)
    @missing << "#{name}: #{reason}"
    {}
  end
end
