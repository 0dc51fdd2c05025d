# frozen_string_literal: true

# A page of Markdown as a program: its Ruby blocks in the order of the page, each on the line it has there. What a reader copies is
# what runs; there is no second copy. HTML comments, which readers do not see, say the rest:
#
#     <!-- ruby ... -->              Ruby that the page takes for granted: models, payloads, a method around a fragment
#     <!-- not run: REASON -->       the next block is not run, and why
#     <!-- file: app.rb -->          the next block is a file for the commands of the page
#     <!-- run -->                   the next block of shell commands is run, behind the page's Ruby
#     <!-- Ruby 4.0: REASON -->      the page does not run on Ruby 3.4, and why
#
# `expression # => value` is checked against the value's `inspect`, `expression # raises Class` against the error's class.
class Guide
  ROOT = File.expand_path("../..", __dir__)
  BROKER = "localhost:9092"
  PRELUDE = <<~'RUBY'.lines(chomp: true).join("; ")
    require "timeout"
    Warning[:experimental] = false
    def expect(value, expected, line) = value.inspect == expected || abort("line #{line}: #{value.inspect}, not #{expected}")
    def expect_error(name, line) = (yield; abort("line #{line}: nothing was raised")) rescue ($!.class.to_s == name || raise)
  RUBY
  # The Kafka pages name the broker of a reader's machine; here it is one inside the process.
  BROKER_PRELUDE = <<~RUBY.lines(chomp: true).join("; ")
    require "guildhall/kafka"
    require "guildhall/kafka/testing"
    BROKER = Guildhall::Kafka::Testing::EmbeddedBroker.start
    at_exit { Guildhall::Kafka.stop; BROKER.stop }
  RUBY
  Block = Data.define(:language, :line, :code, :note)

  attr_reader :name

  # @param path [String]
  def initialize(path)
    @name = path.delete_prefix("#{ROOT}/")
    @text = File.read(path)
  end

  # @return [Array<Guide>] every page
  def self.all
    Dir[File.join(ROOT, "{README,README-kafka,README-tools}.md"), File.join(ROOT, "docs/*.md")].map { |path| new(path) }
  end

  # @return [Array<Block>] with the comment before it, if it says something about the block
  def blocks
    @text.enum_for(:scan, /(?:^<!-- ((?:not run: |file: |run)[^\n]*) -->\n+)?^```(\w+)\n(.*?)^```$/m).map do
      match = Regexp.last_match
      Block.new(match[2], @text[0...match.begin(3)].count("\n") + 1, match[3], match[1])
    end
  end

  # @return [Integer] words of prose: without code, comments, and what is generated
  def words
    own = @text.gsub(/^<!-- (\w+): begin.*?^<!-- \1: end -->$/m, "").gsub(/^<!-- figures: .*?^<!-- end of figures -->$/m, "")
    own.gsub(/^ *```.*?^ *```$/m, "").gsub(/<!--.*?-->/m, "").scan(/[[:alpha:]][\p{L}\p{N}'’_.-]*/).size
  end

  # @return [Array<Block>] Ruby that is run
  def run = blocks.select { |block| block.language == "ruby" && block.note.nil? }

  # @return [Hash{Integer=>String}] line => why it is not
  def not_run
    blocks.filter_map { |block| [block.line, block.note[/\Anot run: (.+)/, 1]] if block.note&.start_with?("not run") }.to_h
  end

  # @return [Hash{String=>String}] name => contents
  def files
    blocks.filter_map { |block| [block.note[/\Afile: (.+)/, 1], block.code] if block.note&.start_with?("file:") }.to_h
  end

  # @return [Hash{String=>String}] the files of an application that the page shows: Ruby that begins with its path, as in `# app/models/order.rb`
  def application_files
    run.filter_map { |block| [block.code[/\A# (\S+\.rb)$/, 1], block] }.select(&:first).to_h do |path, block|
      [path, block.code.lines(chomp: true).each_with_index.map { |line, index| checked(line, block.line + index) }.join("\n")]
    end
  end

  # @return [Array<Array<String>>] the words of the page's commands that begin with `bin/rails`
  def rails_commands
    blocks.select { |block| block.language == "sh" }.flat_map { |block| block.code.lines.grep(%r{\Abin/rails }) }.map { |line| line.split("#").first.split.drop(1) }
  end

  # @return [Array<String>] shell commands
  def commands = blocks.filter_map { |block| block.code if block.note == "run" && block.language == "sh" }

  # @return [String, nil] why the page needs Ruby 4.0
  def needs_ruby_4 = @text[/^<!-- Ruby 4\.0: (.+) -->$/, 1]

  # @return [Boolean]
  def kafka? = [*run.map(&:code), *hidden.values].any? { |code| code.include?(BROKER) }

  # @return [String] the program; line n of it is line n of the page
  def program
    lines = Array.new(@text.count("\n") + 1, "")
    run.each { |block| block.code.lines(chomp: true).each_with_index { |line, index| lines[block.line - 1 + index] = checked(line, block.line + index) } }
    hidden.each { |at, code| code.lines(chomp: true).each_with_index { |line, index| lines[at - 1 + index] = line } }
    lines[0] = "#{PRELUDE}; #{BROKER_PRELUDE if kafka?}"
    "#{lines.join("\n").gsub("\"#{BROKER}\"", "BROKER.bootstrap_servers")}\n"
  end

  private

  def hidden
    @text.enum_for(:scan, /^<!-- ruby\n(.*?)^-->$/m).to_h do
      match = Regexp.last_match
      [@text[0...match.begin(1)].count("\n") + 1, match[1]]
    end
  end

  def checked(line, number)
    if (match = /\A(.+?)\s*# => (.+)\z/.match(line)) then "expect((#{match[1]}), #{match[2].dump}, #{number})"
    elsif (match = /\A(.+?)\s*# raises ([A-Z][\w:]+)\z/.match(line)) then "expect_error(#{match[2].dump}, #{number}) { #{match[1]} }"
    else line
    end
  end
end
