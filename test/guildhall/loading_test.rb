# frozen_string_literal: true

require "test_helper"

# Each part in a fresh process brings what the table of docs/architecture.md permits, and nothing else of ours.
class LoadingTest < GuildhallTest
  LIB = File.expand_path("../../lib/guildhall", __dir__)
  # An extension; what needs railties (test/guildhall/railtie_test.rb has a stand-in); what Bundler has loaded with our gemspecs.
  NOT_LOADED = %w[native railtie version].freeze
  # Parts to load, one a line; then of each, in a child, what came along.
  SCRIPT = <<~'RUBY'
    $VERBOSE = true
    def Warning.warn(text, **) = text.match?(%r{/lib/guildhall/.*circular}) ? abort(text) : super
    before = $LOADED_FEATURES.dup
    ARGV.each do |part|
      reader, writer = IO.pipe
      child = fork do
        require "guildhall/#{part}"
        writer.puts(($LOADED_FEATURES - before).filter_map { |path| path[%r{/guildhall/(.+)\.\w+\z}, 1] }.join(" "))
        writer.close
        exit!(true)
      end
      writer.close
      puts "#{part}: #{reader.read}"
      abort("#{part} cannot be loaded alone") unless Process.wait2(child).last.success?
    end
  RUBY
  LATE = <<~'RUBY'
    Warning[:experimental] = false
    other = Ractor.new { Ractor.receive }
    begin
      require "guildhall/striped_queue"
      Guildhall::Queue.new(1).push(:item)
      Guildhall::StripedQueue.new(2, stripes: 2)
    rescue ThreadError => error
      print error.message
    end
    other << 1
  RUBY

  # Rows of the table: names of parts, and what they may require. The first one is called "basics".
  ROWS = File.read(File.join(LIB, "../../docs/architecture.md"))[/^\| part \|.*?\n\n/m].lines.grep(/^\|/).drop(2).to_h do |line|
    _, parts, _, required = line.split("|")
    [parts.strip.delete_prefix("basics: ").split(", "), required.strip.split(", ")]
  end
  BASICS = ROWS.keys.first

  # @return [Array<String>] what may come with a part: itself, what its row names, and what may come with that
  def self.permitted(part, seen = [])
    return seen if seen.include?(part)
    return BASICS | seen if part == "basics" || BASICS.include?(part)

    _, required = ROWS.find { |names, _| names.include?(part) }
    required.inject([part, *seen]) { |all, one| permitted(one, all) }
  end

  ROWS.each_key do |row|
    loaded = row - NOT_LOADED
    define_method(:"test_#{row.first.tr("/", "_")}_and_its_row_load_alone") { assert_alone(loaded) } if loaded.any?
  end

  def test_a_part_that_was_not_required_is_named
    out = assert_ruby(<<~RUBY)
      require "guildhall"
      %i[Kafka Web Karafka Nothing].each do |name|
        Guildhall.const_get(name)
      rescue NameError => error
        puts error.message.tr("\n", ";")
      end
    RUBY
    parts = {"Kafka" => "kafka", "Web" => "web", "Karafka" => "karafka"}
    assert_equal [*parts.map { |name, file| "uninitialized constant Guildhall::#{name};require \"guildhall/#{file}\" first" }, "uninitialized constant Guildhall::Nothing"],
      out.lines(chomp: true)
  end

  def test_the_table_has_each_part
    files = Dir.children(LIB).grep(/\.rb\z/).map { |name| name.delete_suffix(".rb") }
    assert_equal files.sort, ROWS.keys.flatten.grep_v(%r{/}).sort
  end

  def test_beside_other_ractors
    message = RUBY_VERSION < "4" ? "require guildhall before the first Ractor" : "a StripedQueue needs guildhall to be loaded before"
    assert_match(/\A#{message}/, assert_ruby(LATE))
  end

  private

  def assert_alone(parts)
    lines = assert_ruby(SCRIPT, *parts).lines(chomp: true)
    assert_equal parts.size, lines.size
    extra = lines.to_h do |line|
      part, paths = line.split(": ", 2)
      loaded = paths.split.map { |path| path.sub(%r{\A.*/guildhall/}, "") }
      assert_includes loaded, part
      [part, loaded.map { |path| path[%r{\A[^/]+}] }.uniq - LoadingTest.permitted(part) - [part[%r{\A[^/]+}]]]
    end
    assert_empty(extra.reject { |_, names| names.empty? })
  end
end
