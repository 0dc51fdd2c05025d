# frozen_string_literal: true

require "json"
require "open3"

# An Avro library of another language, as far as it is installed: a script in test/fixtures/avro that writes files of the same objects,
# and prints the objects of a file.
AvroTool = Data.define(:name, :packages, :compressions, :variables, :command, :probe) do
  # @return [String, nil] why it is not run, and what to do about it
  def missing
    _, status = Open3.capture2e(environment, *probe)
    status.success? ? nil : packages
  rescue Errno::ENOENT # the language itself
    packages
  end

  # @return [Hash{String=>String}]
  def environment = {"HOME" => AvroTool::BUILD, "GOCACHE" => File.join(AvroTool::BUILD, "go"), **variables}
end

# Those that there are.
class AvroTool
  FOLDER = File.expand_path("../fixtures/avro", __dir__)
  BUILD = File.expand_path("../../build", __dir__)
  SCHEMA = File.join(FOLDER, "item.avsc")
  OBJECTS = Array.new(120) do |i|
    {"id" => (i * 1_234_567) - 50_000_000, "text" => "text #{i} größe", "ratio" => i.even? ? (i / 4.0) + 0.25 : nil, "tags" => ["a"] * (i % 3)}
  end.freeze
  JARS = %w[avro jackson-core-asl jackson-mapper-asl snappy-java slf4j-api slf4j-nop commons-compress paranamer avro-guava-dependencies]
    .map { |jar| "/usr/share/java/#{jar}.jar" }.freeze
  # Debian's Python, which has Debian's packages.
  PYTHON = "/usr/bin/python3"

  def self.in_folder(name) = File.join(FOLDER, name)

  ALL = [
    new(name: "python", packages: "apt-get install python3-avro python3-snappy python3-zstandard",
      compressions: %w[null deflate snappy zstandard], variables: {"PYTHONIOENCODING" => "UTF-8"}, command: [PYTHON, in_folder("files.py")],
      probe: [PYTHON, "-c", "import avro.datafile, snappy, zstandard"]),
    new(name: "java", packages: "apt-get install libavro-java libsnappy-java default-jdk-headless",
      compressions: %w[null deflate snappy], variables: {},
      command: ["java", "-Dfile.encoding=UTF-8", "-Dschema=#{SCHEMA}", "-cp", JARS.join(":"), in_folder("Files.java")],
      probe: ["test", *JARS.flat_map { |jar| ["-e", jar, "-a"] }, "-x", "/bin/sh"]),
    new(name: "go", packages: "apt-get install golang-go golang-github-linkedin-goavro-dev", compressions: %w[null deflate snappy],
      variables: {"GO111MODULE" => "off", "GOPATH" => "/usr/share/gocode"}, command: ["go", "run", in_folder("files.go")],
      probe: %w[go list github.com/linkedin/goavro]),
    new(name: "node", packages: "npm install --prefix build/node avsc@5.7.9", compressions: %w[null deflate],
      variables: {"NODE_PATH" => File.join(BUILD, "node/node_modules")}, command: ["node", in_folder("files.js")], probe: ["node", "-e", "require('avsc')"])
  ].freeze

  # Defines one test for each of them.
  module Tests
    # @param name [String] of the tests
    # @yieldparam tool [AvroTool] run by the test
    def test_with_each_tool(name, &block)
      ALL.each do |tool|
        define_method(:"test_#{name}_#{tool.name}") do
          packages = tool.missing and skip("#{tool.name} has no Avro library here: #{packages}")
          instance_exec(tool, &block)
        end
      end
    end
  end
end
